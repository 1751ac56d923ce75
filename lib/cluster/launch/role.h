// The role of a process in a job, from its rank.
#pragma once

#include <cstdint>
#include <string>

namespace dtrain {

struct Role {
  bool serves = false;  // whether it holds variables (parameter_server) and does not train
  int64_t number = 0;   // its number among processes of the same kind
  std::string name;     // "rank 1"; if there are servers, "worker 1" or "server 0"
};

// The ranks of workers come first, so that rank 0 evaluates and reports with every strategy. Without servers,
// all ranks train.
Role role_of(int64_t rank, int64_t workers, int64_t servers);

// "rank 3", "ranks 2 to 5"
std::string rank_range(int64_t first, int64_t count);

// The names of `count` ranks starting at `first`: "ranks 2 to 5"; if there are servers, "worker 2, server 0".
std::string names_of_ranks(int64_t first, int64_t count, int64_t workers, int64_t servers);

}  // namespace dtrain
