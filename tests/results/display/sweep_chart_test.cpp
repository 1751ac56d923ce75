#include "display/sweep.h"

#include <string>
#include <vector>

#include "catch.h"
#include "report/markup.h"
#include "runs/sample_sweep.h"

namespace dtrain {
namespace {

TEST_CASE("the check itself tells good from bad") {
  CHECK(is_well_formed("<a><b x=\"1\"/>text &amp; more</a>\n"));
  CHECK_FALSE(is_well_formed("<a><b></a></b>"));
  CHECK_FALSE(is_well_formed("<a>this & that</a>"));
  CHECK_FALSE(is_well_formed("<a/><b/>"));
  CHECK_FALSE(is_well_formed("<a>"));
  CHECK_FALSE(is_well_formed("<a b=\"c\"d\"/>"));
  CHECK_FALSE(is_well_formed("<a b/>"));
}

TEST_CASE("the chart is well-formed SVG that needs nothing else") {
  const std::string svg = sweep_chart(sample_sweep());
  CHECK(is_well_formed(svg));
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  CHECK_THAT(svg, ContainsSubstring("prefers-color-scheme: dark"));
  CHECK(count_of(svg, "http") == 3);  // the name space, of the document and of its two charts
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("one line a batch size in each diagram, without the points that failed") {
  Sweep sweep = sample_sweep();
  CHECK(count_of(sweep_chart(sweep), ">batch 64 per replica</text>") == 1);
  CHECK(count_of(sweep_chart(sweep), "<circle") == 2 * 2 + 1);  // two points in two diagrams, and the legend
  sweep.points.push_back(sweep_point(1, 128, {sweep_run(80000, 1)}));
  const std::string svg = sweep_chart(sweep);
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "class=\"line\"") == 2 * 2 + 2);
  CHECK(count_of(svg, ">batch 128 per replica</text>") == 1);
}

TEST_CASE("a sweep of many batch sizes and replicas keeps its shape") {
  Sweep sweep = sample_sweep();
  sweep.strong = true;
  sweep.points.clear();
  for (int64_t batch = 1024; batch <= 1024 << 9; batch *= 2) {
    for (int64_t replicas = 1; replicas <= 1024; replicas *= 2)
      sweep.points.push_back(
          sweep_point(replicas, batch / replicas, {sweep_run(1e6 * static_cast<double>(replicas), 1)}));
  }
  const std::string svg = sweep_chart(sweep);
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "class=\"line\"") == 10 * 2 + 10);
  CHECK_THAT(svg, ContainsSubstring("batch 524288 global"));
}

TEST_CASE("one point alone, or none, is a chart too") {
  Sweep sweep = sample_sweep();
  sweep.points.resize(1);
  CHECK(is_well_formed(sweep_chart(sweep)));
  CHECK(sweep_chart(sweep).find("nan") == std::string::npos);
  sweep.points = {failed_point(3, 128, ExitCode::kUsage, "does not divide")};
  CHECK(is_well_formed(sweep_chart(sweep)));
  CHECK_THAT(sweep_chart(sweep), ContainsSubstring("no point was measured"));
}

TEST_CASE("names are escaped") {
  Sweep sweep = sample_sweep();
  sweep.name = "a<b> & c\x1b";
  const std::string svg = sweep_chart(sweep);
  CHECK(is_well_formed(svg));
  CHECK_THAT(svg, ContainsSubstring("a&lt;b&gt; &amp; c\\x1b"));
}

}  // namespace
}  // namespace dtrain
