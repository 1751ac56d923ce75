// doctor and bench: commands about this machine and its hosts.
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/patterns.h"
#include "core/signals.h"
#include "core/text.h"
#include "core/version.h"
#include "device/plugins.h"
#include "host/cores.h"
#include "host/hosts.h"
#include "host/machine.h"
#include "host/own_process.h"
#include "metrics/event.h"

namespace dtrain {
namespace {

void require_hosts(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (!is_host(host))
      throw Error(ExitCode::kUsage, "--hosts: '{}' is no host's name or address", printable(host, 80));
  }
  if (hosts.size() == 1)
    throw Error(ExitCode::kUsage, "--hosts: name at least two hosts, the one that leads first");
}

void print(const Finding& finding) {
  const std::string where = finding.host.empty() ? "" : finding.host + ": ";
  std::cout << fmt::format("{:<6} {:<32} {}\n", finding.ok ? "OK" : "TO DO", where + finding.check,
                           printable(finding.text, 4000));
  if (!finding.ok) std::cout << fmt::format("{:<6} {:<32} -> {}\n", "", "", printable(finding.advice, 4000));
  std::cout << std::flush;
}

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
  if (*std::ranges::min_element(bench.sizes) < element)
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

ExitCode doctor_command(const DoctorCommandOptions& options) {
  DoctorOptions examined = options.examined;
  require_hosts(examined.hosts);
  catch_stop_signals();
  if (examined.program.empty() || examined.hosts.empty()) examined.program = own_program().string();
  int64_t wrong = 0;
  const auto on_finding = [&](const Finding& finding) {
    if (stop_signals_received() > 0) throw Error(ExitCode::kStopped, "stopped by a signal");
    if (!finding.ok) ++wrong;
    if (options.json) {
      std::cout << event_text(to_event(finding)) << std::endl;
    } else {
      print(finding);
    }
  };
  examined.hosts.empty() ? examine_this_host(examined, on_finding) : examine_hosts(examined, on_finding);
  if (!options.json)
    std::cout << (wrong == 0 ? "all is well\n" : fmt::format("{} to do\n", wrong)) << std::flush;
  return wrong == 0 ? ExitCode::kDone : ExitCode::kUsage;
}

ExitCode plugin_devices_command(const DoctorCommandOptions& options) {
  try {
    std::cout << answer_of_plugin(options.plugin_for_gpus ? PluginDevices::kGpus : PluginDevices::kTpus,
                                  options.plugin)
              << std::endl;
    return ExitCode::kDone;
  } catch (const Error& error) {
    std::cout << event_text(Event{{"problem", error.what()}}) << std::endl;
    return error.code();
  }
}

ExitCode doctor_host_command(const DoctorCommandOptions& options) {
  const auto& [hosts, ssh_configuration, program, port] = options.examined;
  require_hosts(hosts);
  if (options.index < 0 || options.index >= std::ssize(hosts))
    throw Error(ExitCode::kUsage, "--index: there are fewer hosts");
  const auto say = [](const std::string& line) { std::cerr << printable(line, 4000) << std::endl; };
  MeetingOptions meeting{"", say};
  std::getline(std::cin, meeting.token);
  if (meeting.token.empty()) throw Error(ExitCode::kUsage, "this is started by dtrain doctor, not by hand");
  Identity identity;
  identity.rank = static_cast<int>(options.index);
  identity.world_size = static_cast<int>(hosts.size());
  identity.master_address = hosts.front();
  identity.master_port = port;
  const auto measured = take_part_in_examination(identity, meeting);
  if (measured) std::cout << event_text(*measured) << std::endl;
  return ExitCode::kDone;
}

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
