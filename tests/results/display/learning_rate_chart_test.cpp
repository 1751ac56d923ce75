#include "display/rate_plot.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "catch.h"

namespace dtrain {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

LearningRateCurve falling_in_three() {
  return {.title = "title",
          .at = [](int64_t step) { return step < 300   ? 1e-3
                                          : step < 700 ? 1e-4
                                                       : 1e-5; },
          .steps = 1200,
          .steps_per_epoch = 100,
          .logarithmic = true};
}

TEST_CASE("the lessons' three rates are three level lines, the same distance apart") {
  const auto lines = lines_of(learning_rate_plot(falling_in_three()));
  REQUIRE(lines.size() == 16);  // title, 13 rows, axis, its labels
  CHECK(lines[0] == "title");
  CHECK(lines[1].substr(0, 11) == "    0.001 |");
  CHECK(lines[7].substr(0, 11) == "   0.0001 |");
  CHECK(lines[13].substr(0, 11) == "    1e-05 |");
  const auto stars = [&](size_t line) { return std::count(lines[line].begin(), lines[line].end(), '*'); };
  CHECK(stars(1) == 16);  // steps 0 to 299 of 1199, in 64 columns
  CHECK(stars(7) == 21);  // 300 to 699
  CHECK(stars(13) == 27);
  CHECK(lines[15].substr(10, 1) == "0");
  CHECK(lines[15].substr(lines[15].size() - 2) == "12");
  CHECK_THAT(lines[15], ContainsSubstring(" epochs "));
}

TEST_CASE("a plot fits a terminal and is ASCII, whatever the curve") {
  const std::vector<LearningRateCurve> curves = {
      falling_in_three(),
      {.title = "constant", .at = [](int64_t) { return 0.1; }, .steps = 1, .steps_per_epoch = 1},
      {.title = "zero",
       .at = [](int64_t) { return 0.0; },
       .steps = 10,
       .steps_per_epoch = 3,
       .logarithmic = true},
      {.title = "huge",
       .at = [](int64_t step) { return 1e6 * static_cast<double>(step); },
       .steps = 1'000'000'000'000,
       .steps_per_epoch = 7},
      {.title = "tiny at first",
       .at = [](int64_t step) { return std::pow(10, -300 + static_cast<double>(step)); },
       .steps = 300,
       .steps_per_epoch = 1000,
       .logarithmic = true},
  };
  for (const LearningRateCurve& curve : curves) {
    INFO(curve.title);
    const std::string plot = learning_rate_plot(curve);
    for (const std::string& line : lines_of(plot)) CHECK(line.size() <= 76);
    CHECK(lines_of(plot).size() == 16);
    CHECK(std::all_of(plot.begin(), plot.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    const std::string chart = learning_rate_chart(curve);
    CHECK(chart.find("nan") == std::string::npos);
    CHECK(chart.find("inf") == std::string::npos);
    CHECK(chart.size() < 20000);
  }
}

TEST_CASE("a value beyond the axis is drawn at its end") {
  const std::vector<std::string> lines =
      lines_of(text_plot({.title = "", .curves = {{4, -9}}, .columns = 2}));
  REQUIRE(lines.size() == 15);
  CHECK(lines[0] == "        4 |*");
  CHECK(lines[12] == "        0 | *");
}

TEST_CASE("the chart has decades on a logarithmic axis and escapes its title") {
  LearningRateCurve curve = falling_in_three();
  curve.title = "<b>&\x1b";
  const std::string chart = learning_rate_chart(curve);
  for (const char* label : {">0.001<", ">0.0001<", ">1e-05<", ">12<", ">epochs<"})
    CHECK_THAT(chart, ContainsSubstring(label));
  CHECK_THAT(chart, ContainsSubstring("<title>&lt;b&gt;&amp;\\x1b</title>"));
  curve.steps_per_epoch = 5000;  // less than one epoch
  CHECK_THAT(learning_rate_chart(curve), ContainsSubstring(">1,200<") && ContainsSubstring(">steps<"));
}

}  // namespace
}  // namespace dtrain
