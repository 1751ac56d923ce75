// A run's own folder: runs/<name>-<time>/ with spec.yaml, plan.json, metrics.jsonl, logs/ and summary.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "metrics/event.h"

namespace dtrain {

struct RunDirectoryOptions {
  std::string name;                       // of the job; what does not belong in a file name becomes '_'
  std::filesystem::path parent = "runs";  // of a folder whose name is made up
  std::optional<std::filesystem::path> directory;  // this one instead
  bool overwrite = false;                          // replace the run that `directory` holds
};

// The folder alone, made where it is absent, without a look at what it holds: `directory`, or a new one under
// `parent`, numbered -2, -3, ... when its name is taken. Throws Error when the file system refuses.
std::filesystem::path make_folder_of_run(const RunDirectoryOptions& options);

class RunDirectory {
 public:
  // Makes the folder with an empty metrics.jsonl and logs/, and locks it for as long as this object lives
  // (the kernel ends the lock with the process), so that two jobs never write to one folder.
  //
  // Without `directory`: a new folder, numbered -2, -3, ... when the name is taken.
  // With it: the folder must be absent or empty. `overwrite` also accepts a folder that dtrain made (it has a
  // regular metrics.jsonl and a logs folder) and removes from it spec.yaml, plan.json, metrics.jsonl,
  // summary.json and logs/*.log, nothing else. Throws Error otherwise, with nothing removed, and when the
  // file system refuses.
  static RunDirectory create(const RunDirectoryOptions& options);

  // The folder of a run that is to go on, as it is; locked in the same way. Throws Error(kUsage) when it is
  // none that dtrain made.
  static RunDirectory reopen(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path spec_file() const { return path_ / "spec.yaml"; }
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path logs() const { return path_ / "logs"; }

  // summary.json, replaced as a whole; `document` as SummaryCollector gathers it.
  void write_summary(const Event& document) const;

 private:
  RunDirectory(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;  // descriptor of the locked folder
};

}  // namespace dtrain
