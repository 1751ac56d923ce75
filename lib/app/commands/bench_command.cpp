#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/own_process.h"
#include "core/patterns.h"
#include "core/text.h"
#include "core/version.h"
#include "host/cores.h"
#include "host/machine.h"
#include "metrics/event.h"

namespace dtrain {
namespace {

constexpr int64_t kMostBytes = int64_t{2} << 30;
constexpr size_t kMostSizes = 100;

int64_t parse_bytes(const std::string& text) { return parse_size("--sizes", text, kMostBytes, "2GiB"); }

// "SIZE", or "MIN..MAX" or "MIN..MAX:FACTOR": MIN, MIN * FACTOR, ... and MAX.
void add_sizes(const std::string& text, std::vector<int64_t>& sizes) {
  static const Pattern kRange("(.*)\\.\\.([^:]*)(:([1-9][0-9]{0,5}))?");
  if (text.find("..") == std::string::npos) return sizes.push_back(parse_bytes(text));
  const auto found = kRange.match(text);
  const int64_t factor = !found || (*found)[4].text.empty() ? 10 : std::stoll((*found)[4].text);
  if (!found || factor == 1)
    throw Error(ExitCode::kUsage, "--sizes: '{}' is no range such as 8B..100MB or 8B..1MiB:4",
                printable(text, 80));
  const int64_t lowest = parse_bytes((*found)[1].text), highest = parse_bytes((*found)[2].text);
  if (lowest > highest)
    throw Error(ExitCode::kUsage, "--sizes: '{}' ends before it begins", printable(text, 80));
  for (int64_t size = lowest; size < highest; size *= factor) sizes.push_back(size);
  sizes.push_back(highest);
}

AllReduceBench bench_from(const BenchOptions& options) {
  AllReduceBench bench = options.all_reduce;
  const std::set<std::string> kinds(bench.communication.begin(), bench.communication.end());
  if (kinds.size() < bench.communication.size())
    throw Error(ExitCode::kUsage, "--communication: {}: a kind is listed twice", join(bench.communication));
  for (const std::string& part : options.sizes) add_sizes(part, bench.sizes);
  if (bench.sizes.size() > kMostSizes)
    throw Error(ExitCode::kUsage, "--sizes: more than {} sizes", kMostSizes);
  const int64_t element = bench_element_bytes(bench.dtype);
  if (*std::min_element(bench.sizes.begin(), bench.sizes.end()) < element)
    throw Error(ExitCode::kUsage, "--sizes: the smallest is less than one {} of {} bytes", bench.dtype,
                element);
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
