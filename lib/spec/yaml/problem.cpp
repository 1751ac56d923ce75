#include "yaml/problem.h"

#include <fmt/format.h>

namespace dtrain {

std::string Problem::to_string() const {
  const std::string where = line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
  return where + ": " + (path.empty() ? "" : path + ": ") + text;
}

}  // namespace dtrain
