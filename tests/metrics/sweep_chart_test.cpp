#include "metrics/sweep_chart.h"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "sample_sweep.h"

namespace dtrain {
namespace {

// Whether every element is closed in order and everything else is text without '<' and without bare '&'.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  size_t at = 0;
  bool had_root = false;
  while (at < xml.size()) {
    const size_t tag = xml.find('<', at);
    const std::string text = xml.substr(at, tag == std::string::npos ? std::string::npos : tag - at);
    for (size_t entity = text.find('&'); entity != std::string::npos; entity = text.find('&', entity + 1)) {
      const std::string rest = text.substr(entity, 5);
      if (rest != "&amp;" && rest.substr(0, 4) != "&lt;" && rest.substr(0, 4) != "&gt;") return false;
    }
    if (open.empty() && text.find_first_not_of(" \n") != std::string::npos) return false;
    if (tag == std::string::npos) break;
    const size_t end = xml.find('>', tag);
    if (end == std::string::npos) return false;
    const std::string inside = xml.substr(tag + 1, end - tag - 1);
    if (std::count(inside.begin(), inside.end(), '"') % 2 != 0 || inside.find('<') != std::string::npos)
      return false;
    const std::string name = inside.substr(0, inside.find(' '));
    if (open.empty() && had_root) return false;
    had_root = true;
    if (inside[0] == '/') {
      if (open.empty() || open.back() != inside.substr(1)) return false;
      open.pop_back();
    } else if (inside.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() && had_root;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("the check itself tells good from bad") {
  CHECK(is_well_formed("<a><b x=\"1\"/>text &amp; more</a>\n"));
  CHECK_FALSE(is_well_formed("<a><b></a></b>"));
  CHECK_FALSE(is_well_formed("<a>this & that</a>"));
  CHECK_FALSE(is_well_formed("<a/><b/>"));
  CHECK_FALSE(is_well_formed("<a>"));
}

TEST_CASE("the chart is well-formed SVG that needs nothing else") {
  const std::string svg = sweep_chart(sample_sweep());
  CHECK(is_well_formed(svg));
  CHECK(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0) == 0);
  CHECK_THAT(svg, ContainsSubstring("prefers-color-scheme: dark"));
  CHECK(count_of(svg, "http") == 1);  // the name space
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("one line a batch size in each diagram, without the points that failed") {
  Sweep sweep = sample_sweep();
  CHECK(count_of(sweep_chart(sweep), "batch 64 per replica") == 1);
  CHECK(count_of(sweep_chart(sweep), "<circle") == 2 * 2 + 1);  // two points in two diagrams, and the legend
  sweep.points.push_back(sweep_point(1, 128, {sweep_run(80000, 1)}));
  const std::string svg = sweep_chart(sweep);
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "class=\"line\"") == 2 * 2 + 2);
  CHECK(count_of(svg, "batch 128 per replica") == 1);
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
