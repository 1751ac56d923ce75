#include "cli/find_checkpoint.h"

#include <iostream>

#include "core/text.h"

namespace dtrain {

ResumePoint find_checkpoint(const std::string& path) {
  ResumePoint point = find_resume_point(path, {});
  for (const std::string& warning : point.warnings)
    std::cerr << "WARNING: " << printable(warning, 2000) << '\n';
  return point;
}

}  // namespace dtrain
