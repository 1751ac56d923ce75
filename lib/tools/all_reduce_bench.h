// Measures the all-reduce of each kind of process group over sizes, and checks every sum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "supervise/supervisor.h"

namespace dtrain {

constexpr int64_t kMaxBenchReplicas = 64;
constexpr int64_t kMaxBenchIterations = 10000;

struct AllReduceBench {
  int64_t replicas = 2;
  std::vector<std::string> communication = {"gloo", "shared_memory"};
  std::vector<int64_t> sizes;  // bytes of the tensor, in the order measured
  int64_t iterations = 0;      // timed, of each size; 0: by the size, 10 to 200
  std::string dtype = "float32";

  int64_t iterations_for(int64_t bytes) const;
};

// The types that `dtype` may name.
const std::vector<std::string>& bench_dtypes();
// Bytes of one element of such a type.
int64_t bench_element_bytes(const std::string& dtype);

// What one size took over one kind of group.
struct AllReduceResult {
  int64_t bytes = 0;  // of whole elements
  int64_t count = 0;  // elements
  std::string dtype;
  std::string communication;
  int64_t iterations = 0;
  // From when the last replica calls until the last has its sum.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  int64_t wrong = 0;  // elements over all replicas and iterations, warm-up included

  // GB/s: bytes by time, and that times 2 (n-1) / n, which is what each of n replicas has to send in any
  // algorithm, so that numbers compare between numbers of replicas and with the speed of the hardware
  // (nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth").
  double algorithm_bandwidth() const;
  double bus_bandwidth(int64_t replicas) const;
};

// Starts the replicas as processes of `program` (its hidden `bench-replica` subcommand, which gets the bench
// as arguments) and calls `on_result` for each size and kind of group, which take turns in every iteration so
// that they see the same machine. Wrong sums are results; a replica that fails is told in the return value.
// Throws Error(kUsage) when the bench would not fit in half of this machine's memory.
SuperviseResult supervise_all_reduce_bench(const AllReduceBench& bench, const std::string& program,
                                           const std::function<void(const AllReduceResult&)>& on_result);

// A replica process under supervise_all_reduce_bench.
ExitCode run_all_reduce_bench_replica(const AllReduceBench& bench);

}  // namespace dtrain
