// What the text of a cell means, and how columns of cells are read.
#include "csv/csv_cell.h"

#include <cmath>

#include "catch.h"
#include "files.h"
#include "tables/column_reading.h"
#include "tables/csv_table.h"

namespace dtrain {
namespace {

const NumberStyle kGerman{',', '.'}, kFrench{',', ' '}, kSwiss{'.', '\''}, kBritish{'.', ','};

TEST_CASE("a number is read in the style of its table") {
  CHECK(number_in_cell("1234.5") == 1234.5);
  CHECK(number_in_cell("+.5e1") == 5);
  CHECK(number_in_cell("1,5", {',', 0}) == 1.5);
  CHECK(number_in_cell("-1.234.567,25", kGerman) == -1234567.25);
  CHECK(number_in_cell("1.234", kGerman) == 1234);
  CHECK(number_in_cell("1234,5e-2", kGerman) == 12.345);
  CHECK(number_in_cell("1 234,5", kFrench) == 1234.5);
  CHECK(number_in_cell("1\xC2\xA0"
                       "234,5",
                       kFrench) == 1234.5);  // no break
  CHECK(number_in_cell("1\xE2\x80\xAF"
                       "234,5",
                       kFrench) == 1234.5);  // narrow
  CHECK(number_in_cell("1'234.5", kSwiss) == 1234.5);
  CHECK(number_in_cell("1\xE2\x80\x99"
                       "234.5",
                       kSwiss) == 1234.5);
  CHECK(number_in_cell("1,234,567.5", kBritish) == 1234567.5);
  CHECK(std::isinf(*number_in_cell("1e999")));
  CHECK(*number_in_cell("-1e999") < 0);
  CHECK(number_in_cell("1e-400") == 0);
  CHECK(std::signbit(*number_in_cell("-0,1e-400", kGerman)));
  CHECK_FALSE(number_in_cell("1e-400x"));
  for (const char* word : {"O.5", "?", "-", "None", "1_000", "5%", "0x10", "1.2.3", "1,2,3", "1.234.56",
                           "0.123.456", "1,,5", "12.05.2024", "1 2", "e5", "+-1", ".", ","}) {
    INFO(word);
    CHECK(styles_of(word) == 0);
  }
  CHECK_FALSE(number_in_cell("1,234.5"));
  CHECK_FALSE(number_in_cell("1.5", kGerman));  // no group of three
  CHECK_FALSE(number_in_cell("0.123", kGerman));
  CHECK_FALSE(number_in_cell("1.234.5", kGerman));
  CHECK(styles_of("12") == kEveryStyle);
  CHECK(styles_of("1.5") == kPointStyles);
  CHECK(styles_of("1,5") == kCommaStyles);
  CHECK(styles_of("1.234") == (kPointStyles | bit_of(kGerman)));
  CHECK(styles_of("0,123") == kCommaStyles);
  CHECK(styles_of("1.234,5") == bit_of(kGerman));
}

TEST_CASE("a cell is missing if it says so, or is what programs print for no number") {
  for (const char* cell : {"", "NA", "n/a", "Null", "NaN", "-nan", "+nan", "-NaN(ind)"}) {
    INFO(cell);
    CHECK(is_missing_cell(cell));
  }
  for (const char* cell : {"-", "+", "n", "-n", "none", "nano", "-na", "nan ", "nan(", "inf", "-inf", "0"}) {
    INFO(cell);
    CHECK_FALSE(is_missing_cell(cell));
  }
  CHECK(is_missing_cell("-", {"?", "-"}));
}

TEST_CASE("numbers and dates that mean missing values are found however they are written") {
  const TemporaryFolder folder;
  TableWish wish{.targets = {"y"},
                 .kinds = {{"day", "date"}, {"word", "words"}},
                 .missing_values = {"-999", "9999-12-31"}};
  const auto values = [&](const std::string& text, size_t column) {
    return read_raw_table(folder.write("rows.csv", text), wish).columns[column].values;
  };
  const std::string text =
      "a;day;word;y\n-999.0;9999-12-31 00:00:00;-999.0;1\n-999;31.12.9999;-999;2\n99.9;1970-01-02;-9;3\n";
  for (const size_t column : {0U, 1U}) {
    const std::vector<double> read = values(text, column);
    REQUIRE(read.size() == 3);
    CHECK(std::isnan(read[0]));
    CHECK(std::isnan(read[1]));
    CHECK(read[2] == (column == 0 ? 99.9 : 1));
  }
  CHECK(values(text, 2)[0] == 0);  // of words, the text counts
  CHECK(std::isnan(values(text, 2)[1]));
  // Nor is 1.5 missing where 1.500 means a thousand and a half.
  wish.kinds.clear();
  wish.missing_values = {"1.500"};
  const std::vector<double> german = values("a;y\n1,5;1\n1.500;2\n1.600;3\n", 0);
  CHECK(german[0] == 1.5);
  CHECK(std::isnan(german[1]));
  CHECK(german[2] == 1600);
}

TEST_CASE("a date is its days since 1970, with its time and its difference to UTC") {
  CHECK(days_in_cell("1970-01-01") == 0);
  CHECK(days_in_cell("2024-02-29") == 19782);
  CHECK(days_in_cell("29.02.2024") == 19782);
  CHECK(days_in_cell("1.3.2024") == 19783);
  CHECK(days_in_cell("1969-12-31T18:00") == -0.25);
  CHECK(days_in_cell("1970-01-02 12:00:00") == 1.5);
  CHECK(days_in_cell("1970-01-01T00:00:43.2Z") == 43.2 / 86400);
  CHECK(days_in_cell("1970-01-01T06:00+06:00") == 0);
  CHECK(days_in_cell("1970-01-01T00:00-0600") == 0.25);
  CHECK(days_in_cell("1.1.1970 6:00") == 0.25);
  // Python: datetime.fromisoformat(...).timestamp() / 86400
  CHECK(days_in_cell("2024-05-01") == 19844);
  CHECK(days_in_cell("2024-05-01T12:30:00Z") == 19844 + 45000. / 86400);
  CHECK(days_in_cell("2024-05-01 12:30:00+05:30") == 19844 + 25200. / 86400);
  for (const char* no_date : {"2023-02-29", "2024-13-01", "31.4.2024", "1/2/2024", "2024-1-5", "24-01-05",
                              "1.2.24", "2024-01-05T", "2024-01-05 24:00", "2024-01-05 10:00+24:00",
                              "2024-01-05 10:00-01:60", "2024-01-05T1:2", "2024-01-05 10:00 Uhr", "2024"}) {
    INFO(no_date);
    CHECK_FALSE(days_in_cell(no_date));
  }
}

CountedColumn column_of(const std::string& name, const std::vector<std::string>& cells) {
  CountedColumn column{.name = name};
  int64_t row = 0;
  for (const std::string& cell : cells) column.counts.add(cell, ++row);
  return column;
}

TEST_CASE("the decimal sign is what most cells show, of the column or else of the file") {
  using Texts = std::vector<std::string>;
  const std::string kGermanText = "a decimal comma and thousands points";
  const auto styles = [](const std::vector<CountedColumn>& columns, char separator = ';') {
    std::vector<std::string> styles;
    for (const DecidedColumn& one : decide_columns(columns, separator, {}).columns) {
      CHECK(one.refusal.empty());
      CHECK(one.reading.kind == CellKind::kNumber);
      styles.push_back(style_text(one.reading.style));
    }
    return styles;
  };
  const CountedColumn halves = column_of("a", {"0,5", "1,5", "7"}), prices = column_of("b", {"1.234,5", "3"}),
                      groups = column_of("c", {"1.234", "12.345"}), points = column_of("d", {"0.5", "2.25"}),
                      commas = column_of("e", {"1,234", "12,345"}), spaces = column_of("f", {"1 234", "12"});
  CHECK(styles({halves}) == Texts{"a decimal comma"});
  CHECK(styles({halves, prices, groups}) == Texts(3, kGermanText));
  CHECK(styles({points, prices}) == Texts{"a decimal point", kGermanText});  // each by its own cells
  CHECK(styles({groups}) == Texts{"a decimal point"});
  CHECK(styles({points, commas}) == Texts(2, "a decimal point and thousands commas"));
  CHECK(styles({commas}) == Texts{"a decimal comma"});
  CHECK(styles({commas}, ',') == Texts{"a decimal point and thousands commas"});
  CHECK(styles({halves, spaces}) == Texts(2, "a decimal comma and spaces between thousands"));
}

TEST_CASE("a number that could be two is said to be, and a setting ends it") {
  const auto warnings = [](const std::vector<CountedColumn>& columns, char separator,
                           const StyleWish& wish = {}) {
    return decide_columns(columns, separator, wish).warnings;
  };
  const CountedColumn groups = column_of("c", {"17", "1.234"}), commas = column_of("e", {"1,234"});
  CHECK(warnings({groups}, ';') ==
        std::vector<std::string>{
            "column 'c', row 2: '1.234' is read as 1.234, and could be 1234; data.decimal: point "
            "or comma says which it is"});
  CHECK(warnings({commas}, ';').size() == 1);
  CHECK(warnings({groups}, ',').empty());  // as nearly all files are
  CHECK(warnings({groups}, ';', {.decimal = ','}).empty());
  CHECK(warnings({groups, column_of("a", {"0,5"})}, ';') ==
        std::vector<std::string>{
            "column 'c', row 2: '1.234' is read as 1234, and could be 1.234; data.decimal: comma "
            "or point says which it is"});
  CHECK(warnings({groups, column_of("a", {"1.234,5"})}, ';').empty());
  CHECK(warnings({groups, column_of("a", {"0.5"})}, ';').empty());
}

TEST_CASE("amounts are categories, and that is said") {
  for (const char* amount : {"5%", "12,50 \u20ac", "$3", "-1.234,5\u00a0EUR"}) CHECK(is_amount(amount));
  for (const char* other : {"%", "5 % of", "5", "$x", "3XL"}) CHECK_FALSE(is_amount(other));
  CountedColumn column = column_of("tax", {"19%", "7 %", "7 %", "0"});
  const DecidedColumns decided = decide_columns({column}, ',', {});
  CHECK(decided.columns[0].reading.kind == CellKind::kWord);
  REQUIRE(decided.warnings.size() == 1);
  CHECK_THAT(decided.warnings[0], ContainsSubstring("column 'tax', row 1: '19%' is a number with a sign"));
  column.kind = "words";
  CHECK(decide_columns({column}, ',', {}).warnings.empty());
}

TEST_CASE("counts of parts of a file, merged, are those of the whole") {
  const std::vector<std::string> cells = {"1", "x", "2,5", "y", "3.5", "2024-01-05", "7"};
  const ColumnCounts whole = column_of("a", cells).counts;
  ColumnCounts merged;
  for (size_t cut = 0; cut < 2; ++cut) {
    ColumnCounts part;
    for (size_t row = cut * 3; row < (cut == 0 ? 3 : cells.size()); ++row)
      part.add(cells[row], static_cast<int64_t>(row) + 1);
    merged.merge(part);
  }
  CHECK(merged.cells() == whole.cells());
  CHECK(merged.cells_of(CellForm::kDate) == 1);
  CHECK(merged.numbers_in(kPointStyles) == 3);
  CHECK(merged.first_other({})->cell == "x");
  CHECK(merged.first_other({})->row == 2);
  REQUIRE(merged.sorts().size() == whole.sorts().size());
}

}  // namespace
}  // namespace dtrain
