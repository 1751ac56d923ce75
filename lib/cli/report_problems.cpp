#include "cli/report_problems.h"

#include <fmt/format.h>

namespace dtrain {

void report_problems(const std::vector<Problem>& problems, std::ostream& out) {
  for (const Problem& problem : problems) out << problem.to_string() << '\n';
  out << fmt::format("{} problem{}; docs/spec.md and `dtrain schema` describe every field\n", problems.size(),
                     problems.size() == 1 ? "" : "s");
}

}  // namespace dtrain
