#include "diagnostics/all_reduce_bench.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>

#include "comm/process_group.h"
#include "core/clock.h"
#include "core/named.h"
#include "core/text.h"
#include "host/cores.h"
#include "job/replica_process.h"
#include "metrics/event.h"
#include "metrics/statistics.h"
#include "store/store.h"

namespace dtrain {
namespace {

constexpr auto kTimeout = std::chrono::seconds(60);
constexpr int64_t kWarmUp = 3;  // iterations that are checked but not timed
constexpr int64_t kBytesInAll = int64_t{128} << 20;

struct Dtype {
  std::string name;
  at::ScalarType type;
};

const std::vector<Dtype> kDtypes = {
    {"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16},
    {"int32", at::kInt},     {"int64", at::kLong},     {"uint8", at::kByte}};

at::ScalarType dtype_of(const std::string& name) { return row_named(kDtypes, name, "dtype").type; }

// Test values that look random and differ by element, rank and round, so that a slice that is missing,
// doubled, stale or in the wrong place is noticed. They are integers so small that sums over `size` ranks are
// exact in type T, in whatever order they are added.
template <typename T>
class TestNumbers {
 public:
  TestNumbers(int rank, int size, uint32_t round)
      : key_(round * 0x9E3779B9U + static_cast<uint32_t>(rank) * 0x85EBCA6BU),
        shift_(32 - std::min(std::numeric_limits<T>::digits, 22) +
               std::bit_width(static_cast<unsigned>(size - 1))) {}

  // The highest bits of MurmurHash3's finaliser (A. Appleby).
  int32_t at(uint32_t index) const {
    uint32_t x = index + key_;
    x = (x ^ (x >> 16)) * 0x85EBCA6BU;
    x = (x ^ (x >> 13)) * 0xC2B2AE35U;
    return static_cast<int32_t>((x ^ (x >> 16)) >> shift_);
  }

 private:
  uint32_t key_;
  int shift_;
};

void fill(at::Tensor& tensor, int rank, int size, uint32_t round) {
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, tensor.scalar_type(), "fill", [&] {
    const TestNumbers<scalar_t> numbers(rank, size, round);
    auto* const data = tensor.data_ptr<scalar_t>();
    const auto count = static_cast<uint32_t>(tensor.numel());
    for (uint32_t i = 0; i < count; ++i) data[i] = static_cast<scalar_t>(static_cast<float>(numbers.at(i)));
  });
}

int64_t count_wrong(const at::Tensor& tensor, int size, uint32_t round) {
  int64_t wrong = 0;
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, tensor.scalar_type(), "count_wrong", [&] {
    std::vector<TestNumbers<scalar_t>> numbers;
    for (int rank = 0; rank < size; ++rank) numbers.emplace_back(rank, size, round);
    const auto* const data = tensor.const_data_ptr<scalar_t>();
    const auto count = static_cast<uint32_t>(tensor.numel());
    for (uint32_t i = 0; i < count; ++i) {
      int32_t sum = 0;
      for (const TestNumbers<scalar_t>& of_rank : numbers) sum += of_rank.at(i);
      wrong += data[i] != static_cast<scalar_t>(static_cast<float>(sum));
    }
  });
  return wrong;
}

// What one replica measured for one size and one kind of group.
struct Timings {
  std::vector<double> started;  // of each timed iteration, steady_seconds()
  std::vector<double> ended;
  int64_t wrong = 0;
};

// Measures one all-reduce, from a common start.
void measure_once(ProcessGroup& group, at::Tensor& tensor, uint32_t round, bool timed, Timings& timings) {
  fill(tensor, group.rank(), group.size(), round);
  group.barrier();
  const double started = steady_seconds();
  group.all_reduce_sum(tensor);
  const double ended = steady_seconds();
  timings.wrong += count_wrong(tensor, group.size(), round);
  if (!timed) return;
  timings.started.push_back(started);
  timings.ended.push_back(ended);
}

// Collective: measures one size with every group in turn.
std::vector<Timings> measure_size(const AllReduceBench& bench, int64_t bytes,
                                  const std::vector<std::unique_ptr<ProcessGroup>>& groups) {
  const at::ScalarType type = dtype_of(bench.dtype);
  at::Tensor tensor = at::empty({bytes / bench_element_bytes(bench.dtype)}, type);
  std::vector<Timings> timings(groups.size());
  const int64_t by_size = std::clamp<int64_t>(kBytesInAll / std::max<int64_t>(bytes, 1), 10, 200);
  const int64_t rounds = kWarmUp + (bench.iterations > 0 ? bench.iterations : by_size);
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < groups.size(); ++i)
      measure_once(*groups[i], tensor, static_cast<uint32_t>(round), round >= kWarmUp, timings[i]);
  }
  return timings;
}

// Collects the replicas' reports of each measurement until it is complete.
class Collector {
 public:
  Collector(const AllReduceBench& bench, const std::function<void(const AllReduceResult&)>& on_result)
      : bench_(bench), on_result_(on_result), told_(static_cast<size_t>(bench.replicas)) {}

  // All replicas report the same measurements in the same order, but some may be ahead of others.
  void add(int rank, const std::string& line) {
    const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || text_at(event, "event") != "all_reduce") return;
    told_[static_cast<size_t>(rank)].push_back({event.at("started"), event.at("ended"), event.at("wrong")});
    for (const auto& parts : told_) {
      if (parts.empty()) return;
    }
    on_result_(result(event.at("bytes"), event.at("communication")));
    for (auto& parts : told_) parts.pop_front();
  }

 private:
  AllReduceResult result(int64_t bytes, const std::string& communication) const {
    AllReduceResult result;
    const int64_t item = bench_element_bytes(bench_.dtype);
    result.count = bytes / item;
    result.bytes = result.count * item;
    result.dtype = bench_.dtype;
    result.communication = communication;
    std::vector<double> durations;
    for (size_t i = 0; i < told_.front().front().started.size(); ++i) durations.push_back(duration(i) * 1e6);
    result.iterations = static_cast<int64_t>(durations.size());
    result.median_us = median(durations).value_or(0);
    result.min_us = *std::ranges::min_element(durations);
    result.max_us = *std::ranges::max_element(durations);
    for (const auto& parts : told_) result.wrong += parts.front().wrong;
    return result;
  }

  double duration(size_t iteration) const {
    double started = 0;
    double ended = 0;
    for (const auto& parts : told_) {
      started = std::max(started, parts.front().started.at(iteration));
      ended = std::max(ended, parts.front().ended.at(iteration));
    }
    return ended - started;
  }

  const AllReduceBench& bench_;
  const std::function<void(const AllReduceResult&)>& on_result_;
  std::vector<std::deque<Timings>> told_;  // by rank
};

std::vector<std::string> replica_arguments(const AllReduceBench& bench, const std::string& program) {
  std::vector<std::string> sizes;
  for (const int64_t size : bench.sizes) sizes.push_back(std::to_string(size));
  return {program,   "bench-replica",  "--communication", join(bench.communication, ","),
          "--sizes", join(sizes, ","), "--iterations",    std::to_string(bench.iterations),
          "--dtype", bench.dtype};
}

// Each replica has a tensor, and each group has buffers of about the same size.
void require_memory(const AllReduceBench& bench) {
  const int64_t largest = *std::ranges::max_element(bench.sizes);
  const int64_t half = ::sysconf(_SC_PHYS_PAGES) / 2 * ::sysconf(_SC_PAGESIZE);
  const int64_t most = half / (2 * bench.replicas);
  if (largest <= most) return;
  throw Error(ExitCode::kUsage,
              "a tensor of {} on each of {} replicas is too much for this machine's memory: at most {}",
              human_bytes(largest), bench.replicas, human_bytes(most));
}

}  // namespace

int64_t bench_element_bytes(const std::string& dtype) {
  return static_cast<int64_t>(at::elementSize(dtype_of(dtype)));
}

const std::vector<std::string>& bench_dtypes() {
  static const std::vector<std::string> names = names_of_rows(kDtypes);
  return names;
}

double AllReduceResult::algorithm_bandwidth() const {
  return median_us > 0 ? static_cast<double>(bytes) / median_us / 1e3 : 0;
}

double AllReduceResult::bus_bandwidth(int64_t replicas) const {
  const auto n = static_cast<double>(replicas);
  return algorithm_bandwidth() * 2 * (n - 1) / n;
}

SuperviseResult supervise_all_reduce_bench(const AllReduceBench& bench, const std::string& program,
                                           const std::function<void(const AllReduceResult&)>& on_result) {
  require_memory(bench);
  Collector collector(bench, on_result);
  return supervise_subcommand(
      {replica_arguments(bench, program), static_cast<int>(bench.replicas), /*threads=*/1,
       [&collector](int rank, const std::string& line) { collector.add(rank, line); }});
}

ExitCode run_all_reduce_bench_replica(const AllReduceBench& bench) {
  return run_supervised([&bench](const Identity& identity, StatusBoard& board, ReportPipe& pipe) {
    at::set_num_threads(1);
    keep_to_own_cores(identity.local_rank, identity.local_world_size, 1);
    const StorePtr store = connect_to_job(identity, kTimeout);
    std::vector<std::unique_ptr<ProcessGroup>> groups;
    for (const std::string& communication : bench.communication) {
      groups.push_back(make_group(communication, c10::make_intrusive<c10d::PrefixStore>(communication, store),
                                  identity.rank, identity.world_size, kTimeout));
    }
    for (const int64_t bytes : bench.sizes) {
      board.set(identity.rank, Activity::kCommunicating, 0);
      const std::vector<Timings> timings = measure_size(bench, bytes, groups);
      for (size_t i = 0; i < groups.size(); ++i) {
        pipe.write(event_text(Event{{"event", "all_reduce"},
                                    {"bytes", bytes},
                                    {"communication", bench.communication[i]},
                                    {"started", timings[i].started},
                                    {"ended", timings[i].ended},
                                    {"wrong", timings[i].wrong}}));
      }
    }
  });
}

}  // namespace dtrain
