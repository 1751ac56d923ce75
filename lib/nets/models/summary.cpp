// The table of a model's layers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "models/layers.h"

namespace dtrain {
namespace {

using Row = std::array<std::string, 3>;

std::string with_batch(const Shape& shape) {
  std::string text = "[-";
  for (const int64_t size : shape) text += ", " + std::to_string(size);
  return text + "]";
}

}  // namespace

std::string summary_table(const LayerPlan& plan, int64_t bytes_per_parameter) {
  std::vector<Row> rows = {{"Layer (kind)", "Output shape", "Parameters"}};
  for (const PlacedLayer& layer : plan.layers) {
    rows.push_back({fmt::format("{} ({})", layer.name, layer.spec.kind), with_batch(layer.output_shape),
                    with_separators(layer.parameters)});
  }
  const size_t first_total = rows.size();
  rows.push_back({"Trainable parameters", "", with_separators(plan.parameters())});
  rows.push_back({"Kept statistics", "", with_separators(plan.buffers())});
  rows.push_back({"Size", "", human_bytes((plan.parameters() + plan.buffers()) * bytes_per_parameter)});

  Row::size_type widths[3] = {0, 0, 0};
  for (const Row& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  const std::string rule(widths[0] + widths[1] + widths[2] + 4, '-');
  std::string table;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 1 || i == first_total) table += rule + "\n";
    table += fmt::format("{:<{}}  {:<{}}  {:>{}}\n", rows[i][0], widths[0], rows[i][1], widths[1], rows[i][2],
                         widths[2]);
  }
  return table;
}

}  // namespace dtrain
