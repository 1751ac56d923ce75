#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "metrics/show.h"
#include "runs/comparison.h"

namespace dtrain {
namespace {

using ComparisonRow = std::array<std::string, 4>;
using Show = std::string (*)(std::optional<double>);

std::string column_title(const Event& run) {
  return show_text(run, "strategy") + ", " + show_counted(integer_at(run, "replicas"), "replica");
}

std::string ratio(std::optional<double> baseline, std::optional<double> distributed) {
  if (!baseline || !distributed || *baseline == 0) return "-";
  const double value = *distributed / *baseline;
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

std::string percent(std::optional<double> fraction) {
  return fraction ? fmt::format("{:.1f} %", 100 * *fraction) : "-";
}

std::string lay_out_comparison(const std::vector<ComparisonRow>& rows) {
  std::array<size_t, 4> widths{};
  for (const ComparisonRow& row : rows) {
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string table;
  for (const ComparisonRow& row : rows) {
    std::string line = fmt::format("{:<{}}  {:>{}}  {:>{}}  {:>{}}", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2], row[3], widths[3]);
    table += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

}  // namespace

std::vector<std::array<std::string, 4>> comparison_rows(const Event& comparison) {
  static const Event empty = Event::object();
  const auto run = [&](const char* name) -> const Event& {
    const auto found = comparison.find(name);
    return found == comparison.end() ? empty : *found;
  };
  const Event& baseline = run("baseline");
  const Event& distributed = run("distributed");
  std::vector<ComparisonRow> rows = {{"metric", "baseline", "distributed", "ratio"},
                                     {"", column_title(baseline), column_title(distributed), ""}};
  const auto add = [&](const char* title, const char* key, Show show) {
    const auto left = number_at(baseline, key);
    const auto right = number_at(distributed, key);
    rows.push_back({title, show(left), show(right), ratio(left, right)});
  };
  rows.push_back({"global batch", show_count(integer_at(baseline, "global_batch")),
                  show_count(integer_at(distributed, "global_batch")),
                  ratio(number_at(baseline, "global_batch"), number_at(distributed, "global_batch"))});
  add("time per epoch", "seconds_per_epoch", show_seconds);
  add("examples/s", "examples_per_second", show_rate);
  add("step ms", "step_ms", show_milliseconds);
  add("evaluation loss", "loss", show_loss);
  add("evaluation accuracy", "accuracy", show_accuracy);
  if (const auto restarts = integer_at(distributed, "restarts")) {
    rows.push_back(
        {"restarts (seconds lost)", "-",
         fmt::format("{} ({})", show_count(restarts), show_seconds(number_at(distributed, "lost_seconds"))),
         ""});
  }
  const auto speedup = number_at(comparison, "speedup");
  rows.push_back({"speedup", "", "", speedup ? fmt::format("{:.2f} x", *speedup) : "-"});
  rows.push_back({"scaling efficiency", "", "", percent(number_at(comparison, "scaling_efficiency"))});
  rows.push_back({"overhead at equal replicas", "", "", percent(number_at(comparison, "overhead"))});
  return rows;
}

std::string comparison_table(const Event& comparison) {
  std::string title = fmt::format("comparison: {}, dataset {}", show_text(comparison, "name"),
                                  show_text(comparison, "dataset"));
  if (text_at(comparison, "dataset_requested")) {
    title += fmt::format(" (NOTE: a fallback; {} was not found)", show_text(comparison, "dataset_requested"));
  }
  return title + "\n" + lay_out_comparison(comparison_rows(comparison));
}

}  // namespace dtrain
