// The folder of a run: runs/<name>-<time>/ with spec.yaml, plan.json, metrics.jsonl, logs/ and summary.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "metrics/event.h"

namespace dtrain {

struct RunDirectoryOptions {
  std::string name;                                // of the job; characters unsafe in a file name become '_'
  std::filesystem::path parent = "runs";           // of a folder with a generated name
  std::optional<std::filesystem::path> directory;  // this folder instead
  bool overwrite = false;                          // replace the run in `directory`
};

// Returns only the folder, without checking its contents: `directory`, created if it is absent, or a new
// folder under `parent`, numbered -2, -3, ... if its name is taken. Throws Error if the file system refuses.
std::filesystem::path make_folder_of_run(const RunDirectoryOptions& options);

class RunDirectory {
 public:
  // Makes the folder with an empty metrics.jsonl and logs/, and locks it during the lifetime of this object
  // (the kernel releases the lock when the process ends), so that two jobs never write to one folder.
  //
  // Without `directory`: makes a new folder, numbered -2, -3, ... if the name is taken. With `directory`: the
  // folder must be absent or empty. `overwrite` also accepts a folder that dtrain made (it has a regular
  // metrics.jsonl and a logs folder) and removes from it spec.yaml, plan.json, metrics.jsonl, summary.json
  // and logs/*.log, nothing else. Otherwise throws Error, with nothing removed. Also throws Error if the file
  // system refuses.
  static RunDirectory create(const RunDirectoryOptions& options);

  // Opens the folder of a run that is to be resumed, without changing it, and locks it in the same way.
  // Throws Error(kUsage) if dtrain did not make the folder.
  static RunDirectory reopen(const std::filesystem::path& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path spec_file() const { return path_ / "spec.yaml"; }
  std::filesystem::path plan_file() const { return path_ / "plan.json"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path logs() const { return path_ / "logs"; }

  // Replaces summary.json as a whole. `document` is SummaryCollector::document().
  void write_summary(const Event& document) const;

 private:
  RunDirectory(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;  // descriptor of the locked folder
};

}  // namespace dtrain
