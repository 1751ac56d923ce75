#include "commands/shared.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/files.h"
#include "core/named.h"
#include "core/patterns.h"
#include "core/sockets.h"
#include "core/terminal.h"
#include "core/text.h"
#include "documentation/first_job.h"
#include "host/cores.h"
#include "inference/evaluation.h"
#include "initial_state/warm_start.h"
#include "launch/identity.h"
#include "loader/pixel_statistics.h"
#include "plan/devices.h"
#include "report/page.h"
#include "runs/run_directory.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

const std::string kObstacle = "this job cannot run on this host: ";

void report_lines(const char* begin, const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    std::cerr << wrapped(begin + printable_lines(text), width_limit(STDERR_FILENO), 2);
}

// What a user may mean by a file that is no spec.
std::string advice_on_file(const Problem& problem) {
  const std::filesystem::path file(problem.file);
  const std::string name = printable(problem.file), example = file.stem(), ending = file.extension();
  if (!problem.path.empty()) return "";
  std::error_code none;  // what cannot be looked at is no reason to hide the problem
  if (std::filesystem::exists(file / "spec.yaml", none))
    return "; to resume a run: dtrain run --resume " + name;
  if (std::filesystem::is_directory(file, none) || ending == ".csv" || ending == ".parquet")
    return fmt::format("; for a spec for such data: dtrain init --from {} > job.yaml", name);
  if (!contains(names_of_rows(shipped_configs()), example) || std::filesystem::exists(file, none)) return "";
  return fmt::format("; `dtrain configs {0}` writes the example of this name to {0}.yaml here", example);
}

constexpr double kSecondsBetween = 0.2, kLong = 2;  // the second is when a user begins to wonder

}  // namespace

ExitCode report_problems(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems)
    std::cerr << printable_lines(problem.to_string() + advice_on_file(problem));
  const bool about_fields = std::ranges::any_of(
      problems, [](const Problem& problem) { return problem.line > 0 || !problem.path.empty(); });
  std::cerr << fmt::format("{}{}\n", counted(std::ssize(problems), "problem"),
                           about_fields ? "; docs/spec.md and `dtrain schema` describe every field" : "");
  return ExitCode::kUsage;
}

void report_notes(const std::vector<std::string>& notes) { report_lines("NOTE: ", notes); }

void report_warnings(const std::vector<std::string>& warnings) { report_lines("WARNING: ", warnings); }

void report_failure(const std::string& message, bool expected) {
  const bool red = !expected && shows_colour(STDERR_FILENO);
  const int width = width_limit(STDERR_FILENO);
  for (const std::string& line : split_lines(printable_lines(message)))
    std::cerr << (red ? kRed : "") << wrapped(line, width, 2) << (red ? kPlain : "") << '\n';
}

int64_t parse_size(const std::string& option, const std::string& text, int64_t most,
                   const std::string& most_text) {
  static const std::map<std::string, int64_t> kUnits = {
      {"", 1},          {"B", 1},         {"KB", 1000},    {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000},
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  static const Pattern kSize("([0-9]{1,13})([A-Za-z]*)");
  if (const auto found = kSize.match(text)) {
    const int64_t number = std::stoll((*found)[1].text);
    const auto unit = kUnits.find((*found)[2].text);
    if (unit != kUnits.end() && number > 0 && number <= most / unit->second) return number * unit->second;
  }
  throw Error(ExitCode::kUsage, "{}: '{}' is no size from 1B to {} (B, KB, MB, GB or KiB, MiB, GiB)", option,
              printable(text, 40), most_text);
}

void require_own_page(const std::filesystem::path& file, bool overwrite, const std::string& by) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  require_replaceable(file);
  std::error_code none;
  if (file.has_parent_path() && !std::filesystem::is_directory(file.parent_path(), none))
    throw Error(ExitCode::kUsage, "{}: there is no such folder", file.parent_path().string());
  const std::filesystem::file_status status = std::filesystem::symlink_status(file);
  if (overwrite || !std::filesystem::exists(status)) return;
  if (std::filesystem::is_regular_file(status) &&
      is_report_page(read_file(file, kMostBytes, ExitCode::kUsage)))
    return;
  throw Error(ExitCode::kUsage,
              "{} is there already, and not made by {}: --overwrite replaces it, --out names another",
              file.string(), by);
}

std::filesystem::path make_empty_folder(const std::optional<std::string>& out, const std::string& name,
                                        const std::string& ending) {
  RunDirectoryOptions options;
  options.name = name;
  options.ending = ending;
  if (out) options.directory = *out;
  const std::filesystem::path folder = make_folder_of_run(options);
  std::error_code error;
  if (std::filesystem::is_empty(folder, error) && !error) return folder;
  throw Error(ExitCode::kUsage, folder.string() + ": is not an empty folder; choose another with --out");
}

std::optional<CheckpointJob> open_checkpoint(const CheckpointChoice& choice, const Overrides& overrides,
                                             DatasetInfo (*look)(const DataSpec&)) {
  const ResumePoint point = find_checkpoint(choice);
  report_warnings(point.warnings);
  const LoadedSpec spec = spec_of_checkpoint(point.checkpoint, overrides);
  const PlannedJob planned = job_of_checkpoint(point.checkpoint, spec, look);
  report_notes(spec.notes);
  if (planned.ok()) return CheckpointJob{point, planned.job};
  report_problems(planned.problems);
  return std::nullopt;
}

CountingLine::CountingLine(std::string what, bool quiet)
    : what_(std::move(what)),
      quiet_(quiet),
      on_terminal_(is_terminal(STDERR_FILENO)),
      begin_(steady_seconds()),
      next_(begin_) {}

CountingLine::~CountingLine() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

OnPrepared CountingLine::progress() {
  if (quiet_) return {};
  return [this](int64_t done, int64_t all) { show(done, all); };
}

void CountingLine::show(int64_t done, int64_t all) {
  const double now = steady_seconds();
  if (now < next_ && done < all) return;
  next_ = now + kSecondsBetween;
  const std::string text = fmt::format("{}: {} of {}", what_, with_separators(done), with_separators(all));
  if (on_terminal_) {
    std::cerr << '\r' << text << std::flush;
    drawn_ = true;
  } else if (!told_ && now - begin_ > kLong) {
    std::cerr << "dtrain: " << text << std::endl;
    told_ = true;
  }
}

bool prepare_data(const DatasetInfo& data, const DataSpec& spec, bool quiet) {
  CountingLine line("decoding pictures, once", quiet);
  prepare_dataset(data, spec, line.progress());
  return !data.bad.known;
}

void measure_data(const DatasetInfo& data, JobSpec& job, bool quiet) {
  DataSpec& spec = job.data;
  if (!measures_pixels(spec)) return;
  const Dataset dataset = load_dataset(spec, static_cast<uint64_t>(job.seed));
  const bool decodes = is_picture_dataset(data.name) && spec.cache_in_use() == "none";  // with own threads
  const PixelStatistics measured = [&] {
    CountingLine line("measuring the training pictures", quiet);
    return measure_pixels(*dataset.train, decodes ? 1 : available_cores(), line.progress());
  }();
  set_measured(spec, measured);
  if (are_nearly_black(measured)) std::cerr << "WARNING: " << kNearlyBlack << std::endl;
  const Normalisation by = normalisation_of(spec);
  if (!quiet)
    std::cerr << fmt::format("dtrain: the training pictures have a mean of {} and a standard deviation of {}",
                             text_of(by.mean), text_of(by.standard_deviation))
              << std::endl;
}

void require_loopback(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  const bool by_sockets = run.is_asynchronous() || job.communication == "gloo";
  if (job.spec.hosts.size() < 2 && by_sockets && run.processes() > 1)
    require_own_address(Identity().own_address);
}

std::vector<std::string> missing_on_host(const JobPlan& job) {
  std::vector<std::string> found;
  const auto require = [&found](const auto& check) {
    try {
      check();
    } catch (const Error& error) {
      found.push_back(kObstacle + error.what());
    }
  };
  require([&] { require_devices(job.spec, job.devices, find_devices(job.spec)); });
  require([&] { require_loopback(job); });
  return found;
}

std::optional<std::string> weights_problem(const JobPlan& job) {
  const std::string field = "model.weights: ";
  try {
    require_weights(job);
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.starts_with(field) ? what.substr(field.size()) : what;
  }
  return std::nullopt;
}

std::vector<std::string> obstacles(const JobPlan& job) {
  std::vector<std::string> found = missing_on_host(job);
  if (const auto problem = weights_problem(job)) found.push_back(kObstacle + "model.weights: " + *problem);
  return found;
}

}  // namespace dtrain
