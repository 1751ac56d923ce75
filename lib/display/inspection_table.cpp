#include "display/inspection_table.h"

#include <fmt/format.h>

#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr char kReplicaRow[] = "  {:>4}  {:>8}  {:<32}  {:>10}  {:>14}  {:>14}\n";

std::string show_norm(const Event& of, const std::string& key) {
  const auto value = number_at(of, key);
  return value ? fmt::format("{:.8g}", *value) : "-";
}

// "5, 17, 3, ..."
std::string show_indices(const Event& row) {
  const auto indices = row.find("first_indices");
  if (indices == row.end() || !indices->is_array()) return "-";
  std::string text;
  size_t shown = 0;
  for (const Event& index : *indices) {
    const std::string number = index.is_number_integer() ? std::to_string(index.get<int64_t>()) : "-";
    if (text.size() + number.size() > 26) break;
    text += (shown++ > 0 ? ", " : "") + number;
  }
  return integer_at(row, "examples").value_or(0) > static_cast<int64_t>(shown) ? text + ", ..." : text;
}

std::string row_of(const Event& row) {
  return fmt::format(kReplicaRow, show_count(integer_at(row, "rank")),
                     show_count(integer_at(row, "examples")), show_indices(row),
                     show_loss(number_at(row, "loss")), show_norm(row, "gradient_norm"),
                     show_norm(row, "weight_norm"));
}

}  // namespace

std::string inspection_table(const Event& inspection) {
  std::string text =
      fmt::format("step {}, replica by replica\n", show_count(integer_at(inspection, "step"))) +
      fmt::format(kReplicaRow, "rank", "examples", "which", "loss", "gradient norm", "weight norm");
  if (const auto rows = inspection.find("replicas"); rows != inspection.end() && rows->is_array()) {
    for (const Event& row : *rows) text += row_of(row);
  }
  const bool equal = inspection.value("weights_equal", false);
  const auto difference = number_at(inspection, "gradient_difference");
  text += fmt::format(
      "  shared gradient: norm {}; the sum of the above: {} (difference {:.1e}, allowed {:.0e})\n",
      show_norm(inspection, "gradient_norm"), show_norm(inspection, "expected_gradient_norm"),
      difference.value_or(0), number_at(inspection, "gradient_tolerance").value_or(0));
  text +=
      fmt::format("  weights after the update: {} on every replica\n", equal ? "the same" : "NOT the same");
  return text + (inspection.value("passed", false) ? "  OK\n" : "  FAILED\n");
}

}  // namespace dtrain
