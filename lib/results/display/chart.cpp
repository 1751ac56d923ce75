#include "display/chart.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

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
  .faint { stroke-width: 1.2; opacity: .6 }
  .spot { opacity: 0 }
  .spot:hover { opacity: 1 }
  .ring { fill: none; stroke-width: 2 }
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

const char* series_colour(size_t number) {
  static constexpr std::array<const char*, 6> kColours = {"#3b82d6", "#e0762f", "#2f9e77",
                                                          "#b75cb7", "#b8922a", "#d1495b"};
  return kColours[number % kColours.size()];
}

std::string svg_begin(double width, double height, const std::string& title, const std::string& style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n<title>{2}</title>\n{3}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      width, height, markup_text(title), style);
}

std::string markup_text(const std::string& text, size_t limit) {
  std::string safe;
  for (const char c : printable(text, limit)) {
    static const std::map<char, std::string> kEscaped = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    const auto escaped = kEscaped.find(c);
    safe += escaped == kEscaped.end() ? std::string(1, c) : escaped->second;
  }
  return safe;
}

}  // namespace dtrain
