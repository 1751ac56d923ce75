#include "launch/role.h"

#include <fmt/format.h>

namespace dtrain {

Role role_of(int64_t rank, int64_t workers, int64_t servers) {
  if (servers == 0) return {false, rank, fmt::format("rank {}", rank)};
  if (rank < workers) return {false, rank, fmt::format("worker {}", rank)};
  return {true, rank - workers, fmt::format("server {}", rank - workers)};
}

}  // namespace dtrain
