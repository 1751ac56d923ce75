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
  CHECK(lay_out({{"x", "1", "2"}}, {.width = 6}) ==
        "  x  1\n"
        "\n"
        "  x  2\n");
}

TEST_CASE("a column that does not fit beside the first is below it, in lines that fit") {
  const std::vector<TableRow> rows = {
      {"", "A", "B"}, {"data.path", "a b c d e f g h", "x"}, {"name", "n", "m"}};
  CHECK(lay_out(rows, {.width = 18}) ==
        "  A\n"
        "  data.path\n"
        "      a b c d e f\n"
        "      g h\n"
        "  name\n"
        "      n\n"
        "\n"
        "             B\n"
        "  data.path  x\n"
        "  name       m\n");
}

}  // namespace
}  // namespace dtrain
