// init and configs: commands that write a spec to start from.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "commands/report_problems.h"
#include "core/files.h"
#include "core/text.h"
#include "reference/configs.h"
#include "reference/starter.h"

namespace dtrain {
namespace {

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

}  // namespace

ExitCode init_command(InitOptions options) {
  require_file_name(options.file);
  const bool on_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  if (!options.overwrite) require_absent(options.file, "name another FILE");  // before anything is asked
  if (on_terminal && options.job.answers.empty() && options.job.set.empty())
    options.job.answers = ask_for_job(std::cin, std::cout);
  // The file's name is the job's, if it can be.
  FirstJob named = options.job;
  named.answers["name"] = std::filesystem::path(options.file).stem();
  if (read_first_job(named).ok()) options.job = named;
  const LoadedSpec loaded = read_first_job(options.job);
  if (!loaded.ok()) {
    report_problems(problems_of_options(loaded, options.job), std::cerr);
    return ExitCode::kUsage;
  }
  std::vector<std::string> set;
  for (const std::string& text : options.job.set) set.push_back(text.substr(0, text.find('=')));
  write_file_atomically(options.file, starter_spec(loaded.spec, set));
  std::cout << fmt::format("{0}; to see its numbers: dtrain plan {0}; to train it: dtrain run {0}\n",
                           printable(options.file, 1000));
  return ExitCode::kDone;
}

ExitCode configs_command(const ConfigsOptions& options) {
  const std::vector<std::string> names = shipped_config_names();
  if (!options.name) {
    size_t width = 0;
    for (const std::string& name : names) width = std::max(width, name.size());
    for (const ShippedConfig& config : shipped_configs())
      std::cout << fmt::format("{:<{}}  {}\n", config.name, width, summary_of(config));
    std::cout << "\ndtrain configs NAME writes NAME.yaml here; then: dtrain run NAME.yaml\n";
    return ExitCode::kDone;
  }
  const auto at = std::find(names.begin(), names.end(), *options.name);
  if (at == names.end())
    throw Error(ExitCode::kUsage,
                fmt::format("there is no config '{}'{} (known: {})", printable(*options.name, 60),
                            did_you_mean(*options.name, names), join(names)));
  const std::string file = options.file.value_or(*at + ".yaml");
  require_file_name(file);
  if (!options.overwrite) require_absent(file, "name another FILE");
  write_file_atomically(file, shipped_configs()[static_cast<size_t>(at - names.begin())].text);
  std::cout << fmt::format("{}; to train it: dtrain run {}\n", printable(file, 1000), printable(file, 1000));
  return ExitCode::kDone;
}

}  // namespace dtrain
