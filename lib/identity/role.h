// What a process of a job does, by its rank.
#pragma once

#include <cstdint>
#include <string>

namespace dtrain {

struct Role {
  bool serves = false;  // holds variables (parameter_server), does not train
  int64_t number = 0;   // among those of the same kind
  std::string name;     // "rank 1", or with servers "worker 1", "server 0"
};

// Workers come first: rank 0 evaluates and reports whatever the strategy. Without servers all train.
Role role_of(int64_t rank, int64_t workers, int64_t servers);

// "rank 3", "ranks 2 to 5"
std::string rank_range(int64_t first, int64_t count);

// Of `count` ranks from `first` on: "ranks 2 to 5", or with servers "worker 2, server 0".
std::string names_of_ranks(int64_t first, int64_t count, int64_t workers, int64_t servers);

}  // namespace dtrain
