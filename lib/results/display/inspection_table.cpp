#include <fmt/format.h>

#include "display/banner.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr char kReplicaRow[] = "  {:>4}  {:>8}  {:<22}  {:>9}  {:>12}  {:>12}\n";

std::string show_norm(std::optional<double> value) { return value ? fmt::format("{:.8g}", *value) : "-"; }

// "5, 17, 3, ..."
std::string show_indices(const InspectedReplica& replica) {
  if (!replica.first_indices) return "-";
  std::string text;
  size_t shown = 0;
  for (const int64_t index : *replica.first_indices) {
    const std::string number = std::to_string(index);
    if (text.size() + number.size() > 16) break;
    text += (shown++ > 0 ? ", " : "") + number;
  }
  return replica.examples.value_or(0) > static_cast<int64_t>(shown) ? text + ", ..." : text;
}

std::string row_of(const InspectedReplica& replica) {
  return fmt::format(kReplicaRow, show_count(replica.rank), show_count(replica.examples),
                     show_indices(replica), show_metric(replica.loss), show_norm(replica.gradient_norm),
                     show_norm(replica.weight_norm));
}

}  // namespace

std::string inspection_table(const InspectEvent& inspection) {
  std::string text =
      fmt::format("step {}, replica by replica\n", show_count(inspection.step)) +
      fmt::format(kReplicaRow, "rank", "examples", "which", "loss", "gradient norm", "weight norm");
  if (inspection.replicas) {
    for (const InspectedReplica& replica : *inspection.replicas) text += row_of(replica);
  }
  text += fmt::format(
      "  shared gradient: norm {}\n  the sum of the above: {} (difference {:.1e}, allowed {:.0e})\n",
      show_norm(inspection.gradient_norm), show_norm(inspection.expected_gradient_norm),
      inspection.gradient_difference.value_or(0), inspection.gradient_tolerance.value_or(0));
  text += fmt::format("  weights after the update: {} on every replica\n",
                      inspection.weights_equal.value_or(false) ? "the same" : "NOT the same");
  return text + (inspection.passed.value_or(false) ? "  OK\n" : "  FAILED\n");
}

}  // namespace dtrain
