#include "display/chart.h"

#include <cmath>

#include "catch.h"
#include "report/markup.h"

namespace dtrain {
namespace {

LineChart two_lines() {
  LineChart chart{.title = "loss", .x_title = "epoch"};
  chart.lines.push_back({.name = "a", .colour = 0, .marked = true, .points = {{0, 0}, {1, 50}, {2, 100}}});
  chart.lines.push_back({.name = "b", .colour = 1, .faint = true, .points = {{0, 100}, {2, 0}}});
  return chart;
}

TEST_CASE("lines run over the whole of the axes") {
  LineChart chart = two_lines();
  chart.width = 72 + 18 + 200;  // margins, and 200 x 100 between them
  chart.height = 42 + 50 + 100;
  const std::string svg = line_chart(chart);
  CHECK(is_well_formed(svg));
  CHECK_THAT(svg, ContainsSubstring("d=\"M72.0 142.0L172.0 92.0L272.0 42.0\"") &&
                      ContainsSubstring("d=\"M72.0 42.0L272.0 142.0\""));
  for (const char* label : {">0<", ">20<", ">100<", ">epoch<", ">loss<"})
    CHECK_THAT(svg, ContainsSubstring(label));
  CHECK(count_of(svg, "<circle") == 3);  // of the marked line
  CHECK(count_of(svg, "<style") == 0);
}

TEST_CASE("what is not finite leaves a gap") {
  LineChart chart = two_lines();
  chart.lines[0].points = {{0, 1}, {1, 2}, {2, std::nan("")}, {3, INFINITY}, {4, 3}, {5, 4}};
  const std::string svg = line_chart(chart);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(count_of(svg.substr(svg.find("class=\"line\"")), "M") >= 2);
  CHECK(count_of(svg, "<circle") == 4);
}

TEST_CASE("a fitted axis begins near the least value, a logarithmic one has decades") {
  LineChart chart = two_lines();
  chart.scale = ChartScale::kFitted;
  chart.lines = {{.name = "a", .points = {{1, 0.971}, {2, 0.979}}}};
  CHECK_THAT(line_chart(chart),
             ContainsSubstring(">0.970<") && ContainsSubstring(">0.980<") && !ContainsSubstring(">0.000<"));
  chart.scale = ChartScale::kLogarithmic;
  chart.lines = {{.name = "a", .points = {{1, 2.0}, {2, 0.004}}}};
  CHECK_THAT(line_chart(chart),
             ContainsSubstring(">0.001<") && ContainsSubstring(">0.1<") && ContainsSubstring(">10<"));
  chart.lines = {{.name = "a", .points = {{1, 2.0}, {2, 0.0}}}};  // no logarithm, but on the edge
  CHECK(is_well_formed(line_chart(chart)));
}

TEST_CASE("any values make a chart") {
  for (const double value : {0.0, -3.0, 1e-300, 1e300, 5e-324, -1e300, 1.0}) {
    for (const ChartScale scale : {ChartScale::kFromZero, ChartScale::kFitted, ChartScale::kLogarithmic}) {
      INFO(value);
      LineChart chart = two_lines();
      chart.scale = scale;
      chart.lines = {{.name = "a", .marked = true, .points = {{0, value}}}, {.name = "b", .points = {}}};
      for (int times = 0; times < 2; ++times) {
        const std::string svg = line_chart(chart);
        CHECK(is_well_formed(svg));
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
        CHECK(svg.size() < 20000);
        chart.lines[1].points = {{1e9, 1.0}};
      }
    }
  }
}

TEST_CASE("points tell what they are") {
  LineChart chart = two_lines();
  chart.tells_values = true;
  chart.lines[0].name = "<a> \"&\"";
  const std::string svg = line_chart(chart);
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "<circle") == 5);
  CHECK_THAT(svg, ContainsSubstring("<title>&lt;a&gt; &quot;&amp;&quot;: 50 (epoch 1)</title>"));
}

}  // namespace
}  // namespace dtrain
