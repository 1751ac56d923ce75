#include "metrics/chart.h"

#include <cmath>

#include "core/text.h"

namespace dtrain {

const char* const kChartStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #333 }
  .title { font-size: 16px; font-weight: 600 }
  .page { fill: #fff }
  .grid { stroke: #ddd; stroke-width: 1 }
  .axis { stroke: #777; stroke-width: 1 }
  .perfect { stroke-width: 1.2; stroke-dasharray: 5 5; fill: none; opacity: .65 }
  .line { stroke-width: 2.2; fill: none; stroke-linejoin: round }
  .spread { stroke-width: 1.4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd }
    .page { fill: #1b1d21 }
    .grid { stroke: #3a3d44 }
    .axis { stroke: #888 }
  }
</style>
)";

double grid_step(double highest) {
  const double power = std::pow(10, std::floor(std::log10(highest / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (highest / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

std::string svg_text(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return safe;
}

}  // namespace dtrain
