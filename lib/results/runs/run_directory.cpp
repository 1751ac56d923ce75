#include "runs/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/patterns.h"
#include "core/text.h"
#include "job_file/load.h"
#include "metrics/jsonl.h"
#include "spec/spec.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameLimit = 64;
constexpr int kMoreLocks = 10;
constexpr int kMostOfOneName = 10000;
constexpr size_t kLongestEvent = size_t{1} << 20;  // bytes of the first one

// The runs in a folder, the newest first; runs without checkpoints come last.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<std::tuple<bool, fs::file_time_type, fs::path>> found;
  std::error_code none;
  for (const fs::path& path : paths_in(folder)) {
    const fs::path events = path / "metrics.jsonl";
    if (fs::exists(events, none))
      found.emplace_back(fs::exists(path / "checkpoints", none), fs::last_write_time(events, none), path);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> runs;
  for (const auto& [trained, time, path] : found) runs.push_back(path);
  return runs;
}

// Of a run that is not there: the newest of those beside it.
std::string newest_beside(const fs::path& path) {
  const std::vector<fs::path> runs = runs_in(path.has_parent_path() ? path.parent_path() : "runs");
  return runs.empty() ? "" : "; the newest run is " + runs.front().string();
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kUsage, path.string() + ": " + why);
}

[[noreturn]] void refuse(const fs::path& path, const char* what, int error) {
  fail_to_write(path, what, error, "--run-dir");
}

std::string file_name_of(const std::string& name) {
  std::string safe = name.substr(0, kNameLimit);
  for (char& c : safe) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '_' && c != '.') c = '_';
  }
  if (safe.empty()) return "run";
  if (safe[0] == '.' || safe[0] == '-') safe[0] = '_';  // must not be hidden or look like a command option
  return safe;
}

// Makes one folder; false if the name is taken.
bool make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) refuse(path, "cannot make the folder", errno);
  return false;
}

void make_parents(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) refuse(path, "cannot make the folder", error.value());
}

fs::path make_new_folder(const RunDirectoryOptions& options) {
  make_parents(options.parent);
  const fs::path base =
      options.parent / (file_name_of(options.name) + options.ending + "-" + time_for_file_name());
  if (make_folder(base)) return base;
  for (int number = 2; number <= kMostOfOneName; ++number) {
    const fs::path numbered = base.string() + "-" + std::to_string(number);
    if (make_folder(numbered)) return numbered;
  }
  refuse(base, "too many run directories of this name");
}

fs::path make_given_folder(const fs::path& directory) {
  // "runs/mine/" has an empty last part, whose parent would be the folder itself.
  const fs::path path = directory.has_filename() ? directory : directory.parent_path();
  if (path.empty()) refuse(directory, "not a name for a run directory");
  if (path.has_parent_path()) make_parents(path.parent_path());
  make_folder(path);
  return path;
}

// False if another process of this host has it: NFS tells no other host. File systems without locks (some
// network ones) answer with other errors: there we continue without a lock.
bool lock(const Descriptor& folder, int kind = LOCK_EX) {
  return ::flock(folder.get(), kind | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

Descriptor lock_folder(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) refuse(path, "cannot be the run directory", errno);
  bool locked = lock(folder);
  // Who asks is_in_use() has it for an instant.
  for (int more = kMoreLocks; !locked && more > 0; --more) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    locked = lock(folder);
  }
  if (!locked) refuse(path, "another dtrain is using this run directory; choose another with --run-dir");
  return folder;
}

fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

// Links do not count: their targets are not ours.
bool holds_files_of_a_run(const fs::path& path) {
  return type_of(path / "metrics.jsonl") == fs::file_type::regular &&
         type_of(path / "logs") == fs::file_type::directory;
}

// Other programs have a metrics.jsonl and logs/ too. A run that was killed before its first event has a spec.
bool is_surely_a_run(const fs::path& path) {
  if (!holds_files_of_a_run(path)) return false;
  std::ifstream metrics(path / "metrics.jsonl");
  std::string line(kLongestEvent, '\0');  // and no more of a stranger's file
  metrics.read(line.data(), std::ssize(line));
  line.resize(static_cast<size_t>(metrics.gcount()));
  if (line.empty())
    return type_of(path / "spec.yaml") == fs::file_type::regular && load_spec(path / "spec.yaml").ok();
  const Event event = Event::parse(line.substr(0, line.find('\n')), nullptr, /*allow_exceptions=*/false);
  return event.is_object() && text_at(event, "event") && text_at(event, "time") && text_at(event, "run");
}

// The attempt of a log: of "distributed-rank0.log" 1, of "baseline-worker1.attempt2.restart1.log" 2. nullopt:
// it is no log of a replica.
std::optional<int64_t> attempt_of(const std::string& name) {
  static const Pattern kLog(R"((?:baseline|overhead|distributed)-(?:rank|worker|server)\d+)"
                            R"((?:\.attempt(\d{1,9}))?(?:\.restart\d+)?\.log)");
  const auto found = kLog.match(name);
  return found ? std::optional(whole_number(found->at(1).text).value_or(1)) : std::nullopt;
}

bool is_empty_file(const fs::path& path) {
  std::error_code error;
  return type_of(path) == fs::file_type::regular && fs::file_size(path, error) == 0;
}

// Whether a run has left `path` in its folder that ended while it made the folder, or before a power failure
// let its files reach the disk.
bool is_nothing(const fs::path& path) {
  static const Pattern kUnfinished(R"(spec\.yaml\.tmp\d+-\d+)");  // write_file_atomically()
  const std::string name = path.filename();
  if (kUnfinished.match(name)) return type_of(path) == fs::file_type::regular;
  if (name != "logs") return (name == "spec.yaml" || name == "metrics.jsonl") && is_empty_file(path);
  return type_of(path) == fs::file_type::directory &&
         std::ranges::all_of(paths_in(path), [](const fs::path& log) {
           return attempt_of(log.filename()) && is_empty_file(log);
         });
}

// Whether the folder is empty, or is now: it had nothing that anybody would miss.
bool clear_leftovers(const fs::path& folder) {
  std::error_code error;
  const std::vector<fs::path> all = paths_in(folder, error);
  if (error) refuse(folder, "cannot read the folder", error.value());
  if (!std::ranges::all_of(all, is_nothing)) return false;
  for (const fs::path& path : all) {
    fs::remove_all(path, error);
    if (error) refuse(path, "cannot remove", error.value());
  }
  return true;
}

void remove_run(const RunDirectory& run) {
  std::vector<fs::path> ours = {run.spec_file(),
                                run.plan_file(),
                                run.metrics_file(),
                                place_while_rewinding(run.metrics_file()),
                                run.path() / "summary.json",
                                run.path() / kProgramFile};
  std::error_code error;
  for (const fs::path& path : paths_in(run.logs(), error)) {
    if (attempt_of(path.filename())) ours.push_back(path);
  }
  if (error) refuse(run.logs(), "cannot read the folder", error.value());
  for (const fs::path& file : ours) {
    if (type_of(file) == fs::file_type::directory) refuse(file, "is a folder where dtrain writes a file");
  }
  for (const fs::path& file : ours) {
    fs::remove(file, error);
    if (error) refuse(file, "cannot remove", error.value());
  }
}

void make_empty_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) refuse(path, "cannot create", errno);
}

}  // namespace

void require_run(const fs::path& from, ExitCode code, const std::string& usage) {
  const fs::path path = from.has_filename() ? from : from.parent_path();
  std::error_code none;
  const bool exists = fs::exists(path, none);
  const fs::path named = "runs" / path;
  if (!exists && !path.has_parent_path() && fs::is_directory(named, none))
    throw Error(code, "{}: there is no such folder; did you mean {}?", path.string(), named.string());
  require_folder(path, code, exists ? "" : newest_beside(path));
  if (fs::exists(path / "metrics.jsonl", none) || fs::exists(path / "checkpoints", none)) return;
  const std::vector<fs::path> runs = runs_in(path);
  if (runs.empty()) return;
  std::string command = usage;
  command.replace(command.find("RUN"), 3, shell_word(runs.front().string()));
  throw Error(code, "{} is no run, it holds {}; for the newest: {}", path.string(),
              counted(std::ssize(runs), "run"), command);
}

fs::path make_folder_of_run(const RunDirectoryOptions& options) {
  return options.directory ? make_given_folder(*options.directory) : make_new_folder(options);
}

bool is_named_for(const std::string& folder, const std::string& job) {
  static const Pattern kTime(R"(-\d{8}-\d{6}(-\d+)?)");
  const std::string name = file_name_of(job);
  return folder.starts_with(name) && kTime.match(folder.substr(name.size()));
}

RunDirectory RunDirectory::create(const RunDirectoryOptions& options) {
  const fs::path path = make_folder_of_run(options);
  RunDirectory run(path, lock_folder(path));
  if (!clear_leftovers(path)) {
    if (options.resumes) refuse(path, "the run directory is not empty; choose another with --run-dir");
    if (!options.overwrite) {
      refuse(path,
             "the run directory is not empty; choose another with --run-dir, continue its run with --resume, "
             "or replace that with --overwrite");
    }
    if (!is_surely_a_run(path)) {
      refuse(path,
             "holds files but surely no run of dtrain (logs/, and a metrics.jsonl that begins with an "
             "event), so --overwrite leaves it alone; choose another with --run-dir, or remove the folder "
             "yourself");
    }
    remove_run(run);
  }
  make_folder(run.logs());
  make_empty_file(run.metrics_file());
  return run;
}

RunDirectory RunDirectory::reopen(const fs::path& path) {
  RunDirectory run(path, lock_folder(path));
  if (!holds_files_of_a_run(path))
    refuse(path, "holds no run of dtrain (metrics.jsonl and logs/) that could go on");
  return run;
}

int64_t RunDirectory::attempts() const {
  int64_t attempts = 0;
  for (const fs::path& path : paths_in(logs()))
    attempts = std::max(attempts, attempt_of(path.filename()).value_or(0));
  return attempts;
}

bool RunDirectory::is_in_place() const {
  struct stat ours {};
  const bool removed = ::fstat(lock_.get(), &ours) == 0 && ours.st_nlink == 0;
  return !removed && type_of(logs()) != fs::file_type::not_found;
}

void RunDirectory::make_again() {
  struct stat ours {};
  struct stat there {};
  const bool is_ours = ::fstat(lock_.get(), &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
  if (!is_ours) lock_ = lock_folder(make_given_folder(path_));
  make_folder(logs());
}

void RunDirectory::write_summary(const Event& document) const {
  write_file_durably(path_ / "summary.json", event_text(document, 2) + "\n");
}

bool is_in_use(const fs::path& run) {
  const Descriptor folder(::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.get() >= 0 && !lock(folder, LOCK_SH);
}

}  // namespace dtrain
