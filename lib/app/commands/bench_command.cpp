#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <charconv>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/own_process.h"
#include "core/text.h"
#include "core/version.h"
#include "diagnostics/all_reduce_bench.h"
#include "host/cores.h"
#include "host/machine.h"
#include "metrics/event.h"

namespace dtrain {
namespace {

constexpr int64_t kMostBytes = int64_t{2} << 30;
constexpr size_t kMostSizes = 100;

struct Unit {
  std::string name;
  int64_t bytes;
};

const std::vector<Unit>& units() {
  static const std::vector<Unit> list = {
      {"", 1},          {"B", 1},         {"KB", 1000},    {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000},
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  return list;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// A whole number in [lowest, highest], and the text that follows it.
struct NumberAndRest {
  int64_t number;
  std::string rest;
};
std::optional<NumberAndRest> read_number(const std::string& text, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < lowest || number > highest) return std::nullopt;
  return NumberAndRest{number, std::string(stopped, end)};
}

int64_t parse_bytes(const std::string& text) {
  if (const auto parsed = read_number(text, 1, kMostBytes)) {
    for (const Unit& unit : units()) {
      if (unit.name == parsed->rest && parsed->number <= kMostBytes / unit.bytes)
        return parsed->number * unit.bytes;
    }
  }
  throw Error(ExitCode::kUsage, "--sizes: '{}' is no size from 1B to 2GiB (B, KB, MB, GB or KiB, MiB, GiB)",
              printable(text, 40));
}

// "MIN..MAX" or "MIN..MAX:FACTOR": MIN, MIN * FACTOR, ... and MAX.
std::vector<int64_t> parse_range(const std::string& text) {
  const std::vector<std::string> ends = split(text, "..");
  const std::vector<std::string> last = split(ends.back(), ":");
  const auto factor = last.size() == 2 ? read_number(last[1], 2, 1000000) : NumberAndRest{10, ""};
  if (ends.size() != 2 || last.size() > 2 || !factor || !factor->rest.empty()) {
    throw Error(ExitCode::kUsage, "--sizes: '{}' is no range such as 8B..100MB or 8B..1MiB:4",
                printable(text, 80));
  }
  const int64_t lowest = parse_bytes(ends[0]);
  const int64_t highest = parse_bytes(last[0]);
  if (lowest > highest) {
    throw Error(ExitCode::kUsage, "--sizes: '{}' ends before it begins", printable(text, 80));
  }
  std::vector<int64_t> sizes;
  for (int64_t size = lowest; size < highest; size *= factor->number) sizes.push_back(size);
  sizes.push_back(highest);
  return sizes;
}

std::vector<int64_t> parse_sizes(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& part : split(text, ",")) {
    const auto more =
        part.find("..") == std::string::npos ? std::vector<int64_t>{parse_bytes(part)} : parse_range(part);
    sizes.insert(sizes.end(), more.begin(), more.end());
    if (sizes.size() > kMostSizes) throw Error(ExitCode::kUsage, "--sizes: more than {} sizes", kMostSizes);
  }
  return sizes;
}

void require_known(const char* option, const std::string& word, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return;
  throw Error(ExitCode::kUsage, "{}: unknown '{}'{} (known: {})", option, printable(word, 40),
              did_you_mean(word, known), join(known));
}

void require_between(const char* option, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw Error(ExitCode::kUsage, "{}: {} is not from {} to {}", option, value, lowest, highest);
}

AllReduceBench bench_from(const BenchOptions& options) {
  AllReduceBench bench;
  require_between("--replicas", options.replicas, 2, kMaxBenchReplicas);
  bench.replicas = options.replicas;
  require_between("--iterations", options.iterations, 0, kMaxBenchIterations);
  bench.iterations = options.iterations;
  require_known("--dtype", options.dtype, bench_dtypes());
  bench.dtype = options.dtype;
  bench.communication.clear();
  for (const std::string& name : split(options.communication, ",")) {
    require_known("--communication", name, {"gloo", "shared_memory"});
    if (std::find(bench.communication.begin(), bench.communication.end(), name) != bench.communication.end())
      throw Error(ExitCode::kUsage, "--communication: '{}' is listed twice", name);
    bench.communication.push_back(name);
  }
  bench.sizes = parse_sizes(options.sizes);
  const int64_t element = bench_element_bytes(bench.dtype);
  if (*std::min_element(bench.sizes.begin(), bench.sizes.end()) < element) {
    throw Error(ExitCode::kUsage, "--sizes: the smallest is less than one {} of {} bytes", bench.dtype,
                element);
  }
  return bench;
}

void print_header(const AllReduceBench& bench) {
  std::cout << fmt::format("# dtrain {} all-reduce (sum), LibTorch {}\n", kVersion, TORCH_VERSION)
            << fmt::format("# host {}: {}, {}\n", printable(own_host_name()), printable(processor_name()),
                           counted(available_cores(), "core"))
            << fmt::format("# {}, one thread each; {}\n", counted(bench.replicas, "replica"),
                           join(bench.communication, " and "))
            << "# time: until the last replica has the sum; bandwidths from the median\n"
            << fmt::format("#{:>11} {:>11} {:>9} {:>14} {:>11} {:>11} {:>11} {:>9} {:>9} {:>7}\n", "size",
                           "count", "type", "backend", "median", "min", "max", "algbw", "busbw", "#wrong")
            << fmt::format("#{:>11} {:>11} {:>9} {:>14} {:>11} {:>11} {:>11} {:>9} {:>9} {:>7}", "(B)",
                           "(elements)", "", "", "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)", "")
            << std::endl;
}

void print_row(const AllReduceBench& bench, const AllReduceResult& row) {
  std::cout << fmt::format("{:>12} {:>11} {:>9} {:>14} {:>11.2f} {:>11.2f} {:>11.2f} {:>9.3f} {:>9.3f} {:>7}",
                           row.bytes, row.count, row.dtype, row.communication, row.median_us, row.min_us,
                           row.max_us, row.algorithm_bandwidth(), row.bus_bandwidth(bench.replicas),
                           row.wrong)
            << std::endl;
}

void print_json(const AllReduceBench& bench, const AllReduceResult& row) {
  std::cout << event_text(Event{{"event", "all_reduce"},
                                {"bytes", row.bytes},
                                {"count", row.count},
                                {"dtype", row.dtype},
                                {"communication", row.communication},
                                {"replicas", bench.replicas},
                                {"iterations", row.iterations},
                                {"median_us", row.median_us},
                                {"min_us", row.min_us},
                                {"max_us", row.max_us},
                                {"algorithm_gb_per_second", row.algorithm_bandwidth()},
                                {"bus_gb_per_second", row.bus_bandwidth(bench.replicas)},
                                {"wrong", row.wrong}})
            << std::endl;
}

std::string verdict(int64_t wrong) {
  return wrong == 0 ? "# OK: every sum was exact" : fmt::format("# FAILED: {} elements were wrong", wrong);
}

}  // namespace

ExitCode bench_command(const BenchOptions& options) {
  const AllReduceBench bench = bench_from(options);
  const std::string program = own_program().string();
  if (!options.json) print_header(bench);
  int64_t wrong = 0;
  const auto on_result = [&](const AllReduceResult& row) {
    wrong += row.wrong;
    options.json ? print_json(bench, row) : print_row(bench, row);
  };
  const SuperviseResult result = supervise_all_reduce_bench(bench, program, on_result);
  if (result.code != ExitCode::kDone) {
    report_failure(result.message);
    return result.code;
  }
  if (!options.json) std::cout << verdict(wrong) << std::endl;
  return wrong == 0 ? ExitCode::kDone : ExitCode::kBug;
}

ExitCode bench_replica_command(const BenchOptions& options) {
  return run_all_reduce_bench_replica(bench_from(options));
}

}  // namespace dtrain
