#include "display/epoch_table.h"

#include <fmt/format.h>

#include "core/terminal.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr char kColumns[] = "{:>9} {:>9} {:>9} {:>9} {:>9}";
constexpr char kSpeedColumns[] = " {:>11} {:>11}";

std::string metric(const MetricValues& metrics, const std::string& name) {
  return show_metric(find_metric(metrics, name));
}

}  // namespace

std::string epoch_heading(const std::string& evaluated, const std::string& metric, const std::string& best_by,
                          int width) {
  std::string first = fmt::format("{:>9}{:>20}{:>20}", "", "-- training --", "-- " + evaluated + " --");
  std::string second = fmt::format(kColumns, "epoch", "loss", metric, "loss", metric);
  if (width >= kEpochTableWidth) {
    if (!best_by.empty()) first += fmt::format("{:>30}", "best by " + best_by);
    second += fmt::format(kSpeedColumns, "examples/s", "time");
  }
  return first + "\n" + second + "\n";
}

std::string epoch_line(const EpochRow& row, const std::string& main, bool green, int width) {
  std::string line = fmt::format(kColumns, fmt::format("{}/{}", show_count(row.epoch), row.epochs),
                                 metric(row.training, "loss"), metric(row.training, main),
                                 metric(row.evaluation, "loss"), metric(row.evaluation, main));
  if (width >= kEpochTableWidth)
    line += fmt::format(kSpeedColumns, show_rate(row.examples_per_second), show_duration(row.seconds));
  if (!row.is_best) return line + "\n";
  return line + (green ? fmt::format("  {}best{}\n", kGreen, kPlain) : "  best\n");
}

}  // namespace dtrain
