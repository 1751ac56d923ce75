// validate, schema, init and configs: commands about specs that start nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/addresses.h"
#include "core/files.h"
#include "core/named.h"
#include "core/patterns.h"
#include "core/text.h"
#include "data/dataset.h"
#include "data_check/found_data.h"
#include "documentation/document.h"
#include "job_file/load.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

Event to_json(const std::vector<Problem>& problems) {
  Event list = Event::array();
  for (const Problem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"path", problem.path},
                    {"problem", problem.text}});
  }
  return list;
}

void require_file_name(const std::string& file) {
  if (file == "-")
    throw Error(ExitCode::kUsage, "- is the standard input of other commands; name a FILE to write");
}

// What is wrong with an answer, under the name of the option that gave it.
std::vector<Problem> problems_of_options(const LoadedSpec& loaded, const FirstJob& job) {
  std::vector<Problem> problems = loaded.problems;
  for (Problem& problem : problems) {
    for (const FirstQuestion& question : first_questions()) {
      if (question.path == problem.path && job.answers.contains(question.path))
        problem.file = question.option;
    }
  }
  return problems;
}

// Those that only planning sees, but for what the user may bring later. Nothing is fetched for it.
std::vector<Problem> problems_without_data(const LoadedSpec& loaded) {
  if (loaded.spec.data.path && is_address(*loaded.spec.data.path)) return {};
  try {
    std::vector<Problem> problems = plan_job(loaded, describe_dataset).problems;
    std::erase_if(problems, [](const Problem& problem) {
      return problem.path.starts_with("data") || problem.path == "model.file";
    });
    return problems;
  } catch (const Error&) {  // damaged files
    return {};
  }
}

// `path`, absolute, as the spec says it: relative to the spec where that needs no more than one step up.
std::string path_for(const std::filesystem::path& path, const std::optional<std::string>& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file.value_or("job.yaml")).parent_path();
  const std::string relative = path.lexically_relative(folder.lexically_normal()).string();
  return relative.empty() || relative.starts_with("../..") ? path.string() : relative;
}

// A name for jobs, from a file's or folder's.
std::string job_name(const std::filesystem::path& path) {
  const std::filesystem::path plain = path.lexically_normal();
  std::string name = (plain.has_filename() ? plain : plain.parent_path()).stem().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  }
  return name;
}

// The address of `place`, which is one of the copies of the files at `address`, or is these.
std::string address_of(const std::filesystem::path& place, const std::string& address,
                       const FetchedFiles& copies) {
  const auto file = copies.addresses.find(place.filename());
  return place == copies.place || file == copies.addresses.end() ? address : file->second;
}

// The job with what was found at options.from, and what to say about it.
StarterNotes add_found(const InitOptions& options, FirstJob& job) {
  const bool elsewhere = is_address(*options.from);
  const std::string fault = elsewhere ? fault_of_address(*options.from) : "";
  if (!fault.empty()) throw Error(ExitCode::kUsage, "--from: {}", fault);
  std::error_code none;
  if (!elsewhere && options.from->find("://") != std::string::npos &&
      !std::filesystem::exists(*options.from, none))
    throw Error(ExitCode::kUsage, "--from: addresses of data begin with https:// or s3://");
  const FetchedFiles here = elsewhere ? fetch_any(*options.from) : FetchedFiles{*options.from, {}};
  FoundData found = look_at_data(here.place, options.targets);
  const std::string place = elsewhere ? address_of(found.place, *options.from, here) : found.place.string();
  found.say("data.path", place);
  job.found = found.fields;
  const std::string path = elsewhere ? shown_address(place) : printable(place, 1000);
  std::cerr << fmt::format("dtrain: {}: {}\n", path, found.title);
  report_warnings(found.warnings);
  if (options.targets.empty() && is_decided(options.job, "data.target"))
    report_notes({"--set data.target chooses no loss for the column; --target does"});
  StarterNotes notes{.title = fmt::format("For {}: {}", path, found.title), .fields = {}};
  for (const auto& [path, note] : found.notes) {
    if (!is_decided(job, path)) notes.fields[path] = note;
  }
  return notes;
}

// A folder of this name with the project.
ExitCode init_plugin(const std::string& name, bool overwrite) {
  if (!Pattern("[a-z][a-z0-9_]{0,63}").match(name))
    throw Error(
        ExitCode::kUsage,
        "--plugin: '{}' is no name of a kind: up to 64 small letters, digits and '_', the first a letter",
        printable(name, 60));
  const std::vector<std::string> taken = {"all", "clean", "help", "install", "package", "test"};  // by CMake
  const auto& models = model_kinds().built;
  if (std::ranges::count(models, name) + std::ranges::count(taken, name) > 0)
    throw Error(ExitCode::kUsage,
                "--plugin: '{}' is a model of dtrain's or a target of CMake's; choose another name", name);
  const std::filesystem::path folder = name;
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder))
    throw Error(ExitCode::kUsage, "--plugin: {} is there and no folder; choose another name", name);
  const auto files = plugin_project(name);
  for (const auto& [file, text] : files) {
    if (!overwrite) require_absent(folder / file, "choose another NAME");
  }
  std::filesystem::create_directories(folder);
  for (const auto& [file, text] : files) write_file_atomically(folder / file, text);
  std::cout << fmt::format(
      "{0}/: a plug-in; to build it: cd {0} && cmake -B build && cmake --build build; to train its model: "
      "dtrain run job.yaml\n",
      name);
  return ExitCode::kDone;
}

}  // namespace

ExitCode validate_command(const std::vector<std::string>& specs, const Overrides& overrides, bool json) {
  std::vector<Problem> all;
  Event warnings = Event::array();
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : specs) {
    const LoadedSpec loaded = load_spec(path, overrides);
    std::vector<Problem> problems;
    const std::string name = path == "-" ? "<stdin>" : printable(path, 1000);
    report_notes(loaded.notes);
    try {
      // Also checks shapes, shares and steps, of a dataset whose files are missing with its published shape.
      const PlannedJob planned = plan_job(loaded, describe_dataset);
      const JobPlan& job = planned.job;
      problems = planned.problems;
      if (planned.ok()) {
        for (const std::string& warning : plan_warnings(job)) {
          report_warnings({fmt::format("{}: {}", name, warning)});
          warnings.push_back({{"file", path}, {"warning", warning}});
        }
        for (const std::string& obstacle : missing_on_host(job))
          report_notes({fmt::format("{}: {}", name, obstacle)});
        if (const auto problem = weights_problem(job)) {
          problems.push_back(loaded.problem_at("model.weights", *problem));
          if (code == ExitCode::kDone) code = ExitCode::kCheckpoint;
        }
      }
    } catch (const Error& error) {  // damaged files; continue with the next spec
      const char* const field = loaded.positions.contains("data.path") ? "data.path" : "data.dataset";
      problems.push_back(loaded.problem_at(field, error.what()));
      if (code == ExitCode::kDone) code = error.code();
    }
    if (problems.empty() && !json) std::cout << name << ": valid\n";
    if (!problems.empty() && code == ExitCode::kDone) code = ExitCode::kUsage;
    all.insert(all.end(), problems.begin(), problems.end());
  }
  if (json) {
    const Event document = {{"valid", all.empty()}, {"problems", to_json(all)}, {"warnings", warnings}};
    std::cout << event_text(document, 2) << '\n';
  } else if (!all.empty()) {
    report_problems(all);
  }
  return code;
}

ExitCode schema_command(bool markdown, bool events) {
  std::cout << (events ? events_markdown() : markdown ? spec_markdown() : json_schema());
  return ExitCode::kDone;
}

ExitCode init_command(InitOptions options) {
  if (options.plugin) return init_plugin(*options.plugin, options.overwrite);
  // nullopt: it goes to the standard output.
  const std::optional<std::string> file = options.file || options.from ? options.file : "job.yaml";
  if (file) require_file_name(*file);
  const bool on_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const std::string ending = std::filesystem::path(file.value_or("")).extension();
  if (file && !options.from && ending != ".yaml" && ending != ".yml" && std::filesystem::exists(*file))
    throw Error(ExitCode::kUsage,
                "{0} is there and no spec; for a spec for such data: dtrain init --from {0}",
                printable(*file));
  if (file && !options.overwrite) require_absent(*file, "name another FILE");  // before anything is asked
  StarterNotes notes;
  if (options.from) {
    notes = add_found(options, options.job);
  } else if (on_terminal && options.job.answers.empty() && options.job.set.empty()) {
    options.job.answers = ask_for_job(std::cin, std::cout);
  }
  // The file's name is the job's, if it can be, or that of the data.
  FirstJob named = options.job;
  named.answers["name"] =
      file ? std::filesystem::path(*file).stem().string()
           : job_name(is_address(*options.from) ? shown_address(*options.from) : *options.from);
  if (read_first_job(named).ok()) options.job = named;
  LoadedSpec loaded = read_first_job(options.job);
  if (loaded.ok() && !options.from) loaded.problems = problems_without_data(loaded);
  if (!loaded.ok()) {
    report_problems(problems_of_options(loaded, options.job));
    return ExitCode::kUsage;
  }
  if (options.from && loaded.spec.data.path && !is_address(*loaded.spec.data.path))
    loaded.spec.data.path = path_for(*loaded.spec.data.path, file);
  std::vector<std::string> shown;
  for (const auto* settings : {&options.job.set, &options.job.found}) {
    for (const std::string& text : *settings) shown.push_back(text.substr(0, text.find('=')));
  }
  const std::string text = starter_spec(loaded.spec, shown, notes);
  if (!file) {
    std::cout << text;
    return ExitCode::kDone;
  }
  write_output(*file, text);
  std::cout << fmt::format("{0}; to see its numbers: dtrain plan {0}; to train it: dtrain run {0}\n",
                           printable(*file, 1000));
  return ExitCode::kDone;
}

ExitCode configs_command(const ConfigsOptions& options) {
  const std::vector<std::string> names = names_of_rows(shipped_configs());
  if (!options.name) {
    size_t width = 0;
    for (const std::string& name : names) width = std::max(width, name.size());
    for (const ShippedConfig& config : shipped_configs())
      std::cout << fmt::format("{:<{}}  {}\n", config.name, width, summary_of(config));
    std::cout << "\ndtrain configs NAME writes NAME.yaml here; then: dtrain run NAME.yaml\n";
    return ExitCode::kDone;
  }
  const auto at = std::ranges::find(names, *options.name);
  if (at == names.end())
    throw Error(ExitCode::kUsage, "there is no config '{}'{} (known: {})", printable(*options.name, 60),
                did_you_mean(*options.name, names), join(names));
  const std::string file = options.file.value_or(*at + ".yaml");
  require_file_name(file);
  if (!options.overwrite) require_absent(file, "name another FILE");
  write_output(file, shipped_configs()[static_cast<size_t>(at - names.begin())].text);
  std::cout << fmt::format("{}; to train it: dtrain run {}\n", printable(file, 1000), printable(file, 1000));
  return ExitCode::kDone;
}

}  // namespace dtrain
