#include "launch/role.h"

#include <fmt/format.h>

#include <vector>

#include "core/text.h"

namespace dtrain {

Role role_of(int64_t rank, int64_t workers, int64_t servers) {
  if (servers == 0) return {false, rank, fmt::format("rank {}", rank)};
  if (rank < workers) return {false, rank, fmt::format("worker {}", rank)};
  return {true, rank - workers, fmt::format("server {}", rank - workers)};
}

std::string rank_range(int64_t first, int64_t count) {
  return count == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, first + count - 1);
}

std::string names_of_ranks(int64_t first, int64_t count, int64_t workers, int64_t servers) {
  if (servers == 0) return rank_range(first, count);
  std::vector<std::string> names;
  for (int64_t rank = first; rank < first + count; ++rank)
    names.push_back(role_of(rank, workers, servers).name);
  return join(names);
}

}  // namespace dtrain
