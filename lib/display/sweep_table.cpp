#include "display/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/text.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr char kPointColumns[] = "{:>10} {:>9} {:>9}";
constexpr char kNumberColumns[] = " {:>10} {:>10} {:>10} {:>9} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}";

std::string title_line(std::array<const char*, 3> point, std::array<const char*, 11> numbers) {
  std::string line = fmt::format(kPointColumns, point[0], point[1], point[2]);
  line += std::apply([](auto... title) { return fmt::format(kNumberColumns, title...); }, numbers);
  line[0] = '#';
  return line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

std::string column_titles() {
  return title_line({"", "batch", "batch"}, {"", "examples/s", "", "step", "speedup", "effic.", "data",
                                             "forward,", "communi-", "update", "waiting"}) +
         title_line({"replicas", "/replica", "global"}, {"median", "lowest", "highest", "median", "", "",
                                                         "wait", "backward", "cation", "", "for peers"}) +
         title_line({"", "", ""}, {"", "", "", "ms", "x", "%", "ms", "ms", "ms", "ms", "ms"});
}

std::string point_row(const SweepPoint& point, const std::optional<SweepNumbers>& numbers) {
  const std::string start = fmt::format(
      kPointColumns, point.replicas, point.per_replica_batch ? std::to_string(*point.per_replica_batch) : "-",
      point.global_batch);
  if (!point.error.empty())
    return fmt::format("{}  failed, exit code {}: {}", start, static_cast<int>(point.exit_code),
                       printable(point.error));
  if (!numbers) return start + "  not measured";
  const auto phase = [&](Phase which) { return fmt::format("{:.3f}", numbers->phases_ms[which]); };
  return start + fmt::format(kNumberColumns, show_rate(numbers->examples_per_second),
                             show_rate(numbers->lowest), show_rate(numbers->highest),
                             show_milliseconds(numbers->step_ms), fmt::format("{:.2f}", numbers->speedup),
                             fmt::format("{:.1f}", 100 * numbers->scaling_efficiency),
                             phase(Phase::kDataWait), phase(Phase::kCompute), phase(Phase::kCommunicate),
                             phase(Phase::kUpdate), phase(Phase::kWaitForPeers));
}

std::string heading(const Sweep& sweep) {
  std::string text = fmt::format("# sweep of {}: {} scaling (the {} stays), strategy {}\n",
                                 printable(sweep.name), sweep.strong ? "strong" : "weak",
                                 sweep.strong ? "global batch" : "batch of each replica", sweep.strategy);
  text += "# dataset " + sweep.dataset;
  if (sweep.dataset_requested)
    text += fmt::format(" (NOTE: a fallback; {} was not found)", *sweep.dataset_requested);
  if (sweep.parameters > 0)
    text += fmt::format(", {} parameters, {}", with_separators(sweep.parameters), sweep.dtype);
  text += fmt::format(", communication {}, {} on {}\n", sweep.communication,
                      show_counted(sweep.threads_per_replica, "thread") + " a replica",
                      show_counted(sweep.cores, "core"));
  text += fmt::format("# medians of {} in turn, each of {} after the first {}\n",
                      show_counted(sweep.repeats, "run"), show_counted(sweep.steps, "step"),
                      with_separators(sweep.skipped_steps));
  return text +
         "# speedup, efficiency: against the fewest replicas with the same batch\n# the last five: where a "
         "mean step of rank 0 spends its time\n";
}

std::string verdict_line(const Sweep& sweep, const std::vector<std::optional<SweepNumbers>>& numbers) {
  const auto measured =
      std::count_if(numbers.begin(), numbers.end(), [](const auto& n) { return n.has_value(); });
  const auto failed = std::count_if(sweep.points.begin(), sweep.points.end(),
                                    [](const SweepPoint& point) { return !point.error.empty(); });
  return fmt::format("# {} of {} measured, {} failed; sweep.csv, sweep.json and sweep.svg are in {}\n",
                     measured, show_counted(static_cast<int64_t>(sweep.points.size()), "point"), failed,
                     printable(sweep.directory));
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string sweep_table(const Sweep& sweep) {
  const auto numbers = sweep_numbers(sweep);
  std::string table = heading(sweep) + column_titles();
  for (size_t i = 0; i < sweep.points.size(); ++i) table += point_row(sweep.points[i], numbers[i]) + "\n";
  return table + verdict_line(sweep, numbers);
}

std::string sweep_csv(const Sweep& sweep) {
  std::string text =
      "replicas,per_replica_batch,global_batch,runs,examples_per_second,examples_per_second_lowest,"
      "examples_per_second_highest,step_ms,speedup,scaling_efficiency";
  for (size_t i = 0; i < kPhases; ++i) text += fmt::format(",{}_ms", phase_name(static_cast<Phase>(i)));
  text += ",exit_code,error\n";
  const auto numbers = sweep_numbers(sweep);
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    text += fmt::format("{},{},{},{}", point.replicas,
                        point.per_replica_batch ? std::to_string(*point.per_replica_batch) : "",
                        point.global_batch, point.runs.size());
    if (numbers[i]) {
      const SweepNumbers& n = *numbers[i];
      text += fmt::format(",{},{},{},{},{},{}", n.examples_per_second, n.lowest, n.highest, n.step_ms,
                          n.speedup, n.scaling_efficiency);
      for (const double milliseconds : n.phases_ms.values) text += fmt::format(",{}", milliseconds);
    } else {
      text += std::string(6 + kPhases, ',');
    }
    text += fmt::format(",{},{}\n", static_cast<int>(point.exit_code), csv_text(point.error));
  }
  return text;
}

}  // namespace dtrain
