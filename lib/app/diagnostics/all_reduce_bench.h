// Measures the all-reduce of each kind of process group for a list of sizes, and checks every sum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "processes/supervisor.h"

namespace dtrain {

struct AllReduceBench {
  int64_t replicas = 2;
  std::vector<std::string> communication = {"gloo", "shared_memory"};
  std::vector<int64_t> sizes;  // in bytes of the tensor, in the order in which they are measured
  int64_t iterations = 0;      // timed, for each size; 0: 10 to 200, depending on the size
  std::string dtype = "float32";
};

// The types that `dtype` may name.
const std::vector<std::string>& bench_dtypes();
// The size in bytes of one element of such a type.
int64_t bench_element_bytes(const std::string& dtype);

// The result of one size with one kind of group.
struct AllReduceResult {
  int64_t bytes = 0;  // a whole number of elements
  int64_t count = 0;  // elements
  std::string dtype;
  std::string communication;
  int64_t iterations = 0;
  // Microseconds from the last replica's call until the last replica has its sum.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int64_t wrong = 0;  // wrong elements in all replicas and iterations, including the warm-up

  // In GB/s. The algorithm bandwidth is bytes per time. The bus bandwidth is that times 2 (n-1) / n, the
  // share that each of n replicas has to send in any algorithm, so that values can be compared between
  // numbers of replicas and with the speed of the hardware (nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth").
  double algorithm_bandwidth() const;
  double bus_bandwidth(int64_t replicas) const;
};

// Starts the replicas as processes of `program` (with its hidden `bench-replica` subcommand, which gets the
// bench as arguments), and calls `on_result` for each size and kind of group. The groups take turns in every
// iteration, so that they run under the same conditions. Wrong sums are reported as results, and a replica
// that fails in the return value. Throws Error(kUsage) if it would need more than half of the memory.
SuperviseResult supervise_all_reduce_bench(const AllReduceBench& bench, const std::string& program,
                                           const std::function<void(const AllReduceResult&)>& on_result);

// Runs a replica process of supervise_all_reduce_bench().
ExitCode run_all_reduce_bench_replica(const AllReduceBench& bench);

}  // namespace dtrain
