// The folder of a run: runs/<name>-<time>/ with spec.yaml, plan.json, metrics.jsonl, logs/ and summary.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/descriptor.h"
#include "core/error.h"
#include "metrics/event.h"

namespace dtrain {

// Throws Error(code) if `from`, which a user has named, is no folder, with a run that may be meant, or if it
// holds runs: then with `usage` for the newest of them. RUN stands for it there: "dtrain eval RUN".
void require_run(const std::filesystem::path& from, ExitCode code, const std::string& usage);

struct RunDirectoryOptions {
  std::string name;                                // of the job; characters unsafe in a file name become '_'
  std::filesystem::path parent = "runs";           // of a folder with a generated name
  std::optional<std::filesystem::path> directory;  // this folder instead
  bool overwrite = false;                          // replace the run in `directory`
  bool resumes = false;                            // a run that is elsewhere: do not advise to replace one
  std::string ending = {};                         // of a generated name, before its time: "-tune"
};

// Returns only the folder, without checking its contents: `directory`, created if it is absent, or a new
// folder under `parent`, numbered -2, -3, ... if its name is taken. Throws Error if the file system refuses.
std::filesystem::path make_folder_of_run(const RunDirectoryOptions& options);

// Whether a folder of this name is one that make_folder_of_run() makes under `parent` for a job named `job`.
bool is_named_for(const std::string& folder, const std::string& job);

class RunDirectory {
 public:
  // Makes the folder with an empty metrics.jsonl and logs/, and locks it during the lifetime of this object
  // (the kernel releases the lock when the process ends), so that two jobs of a host never share it.
  //
  // Without `directory`: makes a new folder, numbered -2, -3, ... if the name is taken. With `directory`: the
  // folder must be absent, empty, or without more than a run leaves there that is ended while it makes the
  // folder: files without content. `overwrite` also accepts a folder that is surely a run (it has a logs
  // folder and a metrics.jsonl whose first line is an event, or that is empty beside a valid spec.yaml) and
  // removes from it spec.yaml, plan.json, program.pt, metrics.jsonl, summary.json and the logs of replicas,
  // nothing else.
  // Otherwise throws Error, with nothing removed. Also throws Error if the file system refuses.
  static RunDirectory create(const RunDirectoryOptions& options);

  // Opens the folder of a run that is to be resumed, without changing it, and locks it in the same way.
  // Throws Error(kUsage) if dtrain did not make the folder.
  static RunDirectory reopen(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path spec_file() const { return path_ / "spec.yaml"; }
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path logs() const { return path_ / "logs"; }
  // How many attempts at the run have logs here: the highest number of one; 0: none.
  int64_t attempts() const;

  // Whether the folder and its logs/ are still where they were made.
  bool is_in_place() const;
  // Makes again, and locks, what somebody has removed. Throws Error if the file system refuses, or if another
  // dtrain has the folder.
  void make_again();

  // Replaces summary.json as a whole. `document` is SummaryCollector::document().
  void write_summary(const Event& document) const;

 private:
  RunDirectory(std::filesystem::path path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  Descriptor lock_;  // the locked folder
};

// Whether a dtrain that is running has the folder.
bool is_in_use(const std::filesystem::path& run);

}  // namespace dtrain
