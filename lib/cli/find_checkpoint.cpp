#include "cli/find_checkpoint.h"

#include <iostream>

#include "cli/report_problems.h"
#include "runs/require_folder.h"

namespace dtrain {

ResumePoint find_checkpoint(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code none;
  // A file of a checkpoint means the checkpoint.
  const bool is_part = std::filesystem::is_regular_file(path, none) && is_checkpoint(parent);
  if (!is_part) require_folder(path, ExitCode::kCheckpoint);
  ResumePoint point = find_resume_point(is_part ? parent.string() : path, {});
  report_warnings(point.warnings, std::cerr);
  return point;
}

}  // namespace dtrain
