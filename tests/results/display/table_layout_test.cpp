#include "display/table_layout.h"

#include "catch.h"

namespace dtrain {
namespace {

const std::vector<TableRow> kRows = {
    {"", "first", "second", "third"}, {"a", "1", "22", "333"}, {"longer", "4"}, {"b", "5", "6", "7"}};

TEST_CASE("columns are as wide as they need, or as is asked") {
  CHECK(lay_out(kRows) ==
        "          first  second  third\n"
        "  a           1      22    333\n"
        "  longer      4\n"
        "  b           5       6      7\n");
  CHECK(lay_out({{"x", "1"}}, {.indent = "", .narrowest = 4}) == "x     1\n");
  CHECK(lay_out({{"x", "1", "far"}, {"y", "2", "longer"}}, {.ends_in_text = true}) ==
        "  x  1  far\n"
        "  y  2  longer\n");
  CHECK(lay_out({{"alone"}}) == "  alone\n");
}

TEST_CASE("columns that do not fit follow below with the first one") {
  CHECK(lay_out(kRows, {.width = 24}) ==
        "          first  second\n"
        "  a           1      22\n"
        "  longer      4\n"
        "  b           5       6\n"
        "\n"
        "          third\n"
        "  a         333\n"
        "  longer\n"
        "  b           7\n");
  CHECK(lay_out(kRows, {.width = 30}) == lay_out(kRows));
  // A column that fits nowhere has a table to itself.
  CHECK(lay_out({{"x", "1", "2"}}, {.width = 1}) ==
        "  x  1\n"
        "\n"
        "  x  2\n");
}

}  // namespace
}  // namespace dtrain
