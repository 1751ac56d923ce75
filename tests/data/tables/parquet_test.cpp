// Parquet files that pyarrow made (scripts/parquet/make_tables.py): what becomes of each type, and of files
// that are damaged. Left out where the module for Parquet is not built: ctest
// then says so.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "parquet/parquet_file.h"
#include "tables/csv_summary.h"
#include "tables/csv_table.h"
#include "tables/plain_column.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

using Numbers = std::vector<double>;
using Words = std::vector<std::string>;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

fs::path shipped(const std::string& name) {
  return fs::path(DTRAIN_SOURCE_DIR) / "tests/data/tables/parquet" / name;
}

TEST_CASE("without its module a Parquet file says what to do") {
  ::setenv("DTRAIN_PARQUET_MODULE", "/nowhere/libdtrain_parquet.so", 1);  // first: it is loaded once
  try {
    const ParquetTable file({shipped("old.parquet")});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("pip install pyarrow=="));
  }
}

#ifdef DTRAIN_PARQUET_MODULE
void use_module() { ::setenv("DTRAIN_PARQUET_MODULE", DTRAIN_PARQUET_MODULE, 1); }

template <class Call>
std::string parquet_refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.what();
  }
  return "accepted";
}

const RawColumn& column_of(const RawTable& table, const std::string& name) {
  return *std::ranges::find(table.columns, name, &RawColumn::name);
}

// The same numbers, missing ones at the same places.
bool are_equal(const Numbers& a, const Numbers& b) {
  return std::ranges::equal(
      a, b, [](double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); });
}

// The words of a column, by row; "": missing.
Words words_of(const RawColumn& column) {
  Words words;
  for (const double value : column.values)
    words.push_back(std::isnan(value) ? "" : column.words.at(static_cast<size_t>(value)));
  return words;
}

RawTable read_types(const std::map<std::string, std::string>& kinds = {}, const Words& missing = {}) {
  return read_raw_table(shipped("types.parquet"), TableWish{.targets = {"y"},
                                                            .classes = true,
                                                            .fills_missing = true,
                                                            .kinds = kinds,
                                                            .missing_values = missing});
}

TEST_CASE("each type of a Parquet file becomes the numbers or words that were written") {
  use_module();
  const RawTable table = read_types();
  CHECK(table.rows == 5);
  const std::pair<const char*, Numbers> wanted[] = {{"flag", {1, 0, 1, kNone, 0}},
                                                    {"i8", {-128, 127, 0, kNone, 1}},
                                                    {"i16", {-32768, 32767, 0, kNone, 1}},
                                                    {"i32", {-2147483648.0, 2147483647.0, 0, kNone, 1}},
                                                    {"i64", {-0x1p63, 0x1p63, 0, kNone, 1}},
                                                    {"u8", {0, 255, 1, kNone, 2}},
                                                    {"u16", {0, 65535, 1, kNone, 2}},
                                                    {"u32", {0, 4294967295.0, 1, kNone, 2}},
                                                    {"u64", {0, 0x1p64, 1, kNone, 2}},
                                                    {"half", {0.5, -2, 65504, kNone, 0x1p-24}},
                                                    {"single", {0.5, -1.25, 3e38F, kNone, 0.1F}},
                                                    {"double", {0.1, -1e300, 0, kNone, 2.5}},
                                                    {"decimal7", {1.5, -12345.67, 0, kNone, 99999.99}},
                                                    {"decimal16", {1.5, -12345.67, 0, kNone, 99999.99}},
                                                    {"decimal38", {1.5, -12345.67, 0, kNone, 99999.99}},
                                                    {"decimal50", {1.5, -12345.67, 0, kNone, 99999.99}},
                                                    {"date32", {0, 19782, -1, kNone, 1}},
                                                    {"date64", {0, 19782, -1, kNone, 1}},
                                                    {"time_ms", {0, 1.5, -0.25, kNone, 19782.25}},
                                                    {"time_us", {0, 1.5, -0.25, kNone, 19782.25}},
                                                    {"time_ns", {0, 1.5, -0.25, kNone, 19782.25}},
                                                    {"of_day", {0.25, 0.5, 0, kNone, 0.75}},
                                                    {"nothing", Numbers(5, kNone)}};
  for (const auto& [name, numbers] : wanted) {
    INFO(name);
    const RawColumn& column = column_of(table, name);
    CHECK(are_equal(column.values, numbers));
    const bool is_date = std::string(name).starts_with("date") || std::string(name).starts_with("time");
    CHECK((column.reading.kind == CellKind::kDate) == is_date);
  }
  for (const char* name : {"text", "large_text", "category"})
    CHECK(words_of(column_of(table, name)) == Words{"red", "green", "red", "", "blue"});
  CHECK(words_of(column_of(table, "y")) == Words{"1", "0", "1", "0", "1"});

  // Old forms of the same.
  const RawTable old = read_raw_table(shipped("old.parquet"), TableWish{.targets = {"y"}});
  CHECK(are_equal(column_of(old, "time_ns").values, {0, 1.5, -0.25, kNone, 19782.25}));
  CHECK(are_equal(column_of(old, "double").values, {0.1, -1e300, 0, kNone, 2.5}));
  CHECK(words_of(column_of(old, "text")) == Words{"red", "green", "red", "", "blue"});
}

TEST_CASE("data.columns and data.missing_values mean in Parquet files what they mean in text") {
  use_module();
  const RawTable table = read_types({{"flag", "words"},
                                     {"i64", "words"},
                                     {"u64", "words"},
                                     {"half", "words"},
                                     {"single", "words"},
                                     {"decimal38", "words"},
                                     {"date32", "words"},
                                     {"time_ns", "words"},
                                     {"of_day", "words"},
                                     {"u8", "ignore"}},
                                    {"255", "0.1", "green"});
  CHECK(words_of(column_of(table, "flag")) == Words{"true", "false", "true", "", "false"});
  CHECK(words_of(column_of(table, "i64")) ==
        Words{"-9223372036854775808", "9223372036854775807", "0", "", "1"});
  CHECK(words_of(column_of(table, "u64")) == Words{"0", "18446744073709551615", "1", "", "2"});
  CHECK(words_of(column_of(table, "half"))[1] == "-2");
  CHECK(words_of(column_of(table, "single")) == Words{"0.5", "-1.25", "3e+38", "", ""});  // 0.1 is missing
  CHECK(words_of(column_of(table, "decimal38"))[1] == "-12345.6700000000");
  CHECK(words_of(column_of(table, "date32")) ==
        Words{"1970-01-01", "2024-02-29", "1969-12-31", "", "1970-01-02"});
  CHECK(words_of(column_of(table, "time_ns"))[2] == "1969-12-31 18:00:00");
  CHECK(words_of(column_of(table, "of_day"))[0] == "06:00:00");
  CHECK(are_equal(column_of(table, "double").values, {kNone, -1e300, 0, kNone, 2.5}));
  CHECK(words_of(column_of(table, "text")) == Words{"red", "", "red", "", "blue"});
  CHECK(std::ranges::find(table.columns, "u8", &RawColumn::name) == table.columns.end());

  // Numbers as the column's type has them, and dates as dates alone: -1 is the day 1969-12-31.
  const RawTable typed = read_types({}, {"0.1", "-1", "2024-02-29", "1970-01-02 12:00"});
  CHECK(are_equal(column_of(typed, "single").values, {0.5, -1.25, 3e38F, kNone, kNone}));
  CHECK(are_equal(column_of(typed, "double").values, {kNone, -1e300, 0, kNone, 2.5}));
  CHECK(are_equal(column_of(typed, "date32").values, {0, kNone, -1, kNone, 1}));
  CHECK(are_equal(column_of(typed, "time_ns").values, {0, kNone, -0.25, kNone, 19782.25}));

  CHECK_THAT(parquet_refusal([] {
               read_types({{"text", "number"}});
             }),
             ContainsSubstring("column 'text', row 1: 'red' is not a finite number"));
  const auto refused_with = [](const Words& missing) {
    return parquet_refusal([&] { read_types({{"text", "number"}}, missing); });
  };
  CHECK_THAT(refused_with({"red"}), ContainsSubstring("column 'text', row 2: 'green' is not a finite"));
  CHECK_THAT(refused_with({"red", "green"}), ContainsSubstring("column 'text', row 5: 'blue' is not a"));
  CHECK_THAT(parquet_refusal([] {
               read_types({{"text", "date"}});
             }),
             ContainsSubstring("column 'text', row 1: 'red' is not a date"));
  CHECK_THAT(parquet_refusal([] {
               read_types({{"i8", "date"}});
             }),
             ContainsSubstring("column 'i8' holds numbers, which are no dates"));
  CHECK_THAT(parquet_refusal([] {
               read_types({{"i9", "words"}});
             }),
             ContainsSubstring("there is no column 'i9'"));
}

TEST_CASE("several Parquet files are one table, and a saved format reads them and text alike") {
  use_module();
  const TableWish wish{.targets = {"y"},
                       .ignored = {"nothing", "double"},  // whose deviation is no number
                       .classes = true,
                       .fills_missing = true,
                       .kinds = {{"i8", "words"}}};
  const TablePath twice(shipped(""), {shipped("types.parquet"), shipped("types.parquet")});
  const RawTable table = read_raw_table(twice, wish);
  CHECK(table.rows == 10);
  CHECK(column_of(table, "decimal7").values[9] == 99999.99);
  CHECK(words_of(column_of(table, "text"))[9] == "blue");
  CHECK(table_header(twice).front() == "flag");
  CHECK_THAT(
      parquet_refusal([&] {
        read_raw_table(TablePath(shipped(""), {shipped("types.parquet"), shipped("old.parquet")}), wish);
      }),
      ContainsSubstring("old.parquet: has other columns than types.parquet"));

  const std::vector<int64_t> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const TableFormat format = make_table_format(table, wish, rows);
  CHECK(format.classes == Words{"0", "1"});
  const TableFormat again = parse_table_format(table_format_text(format));
  const TableTensors ours =
      encode_table(read_raw_table(shipped("types.parquet"), again, false), again, false);
  CHECK(ours.inputs.size(0) == 5);
  CHECK(ours.unknown_words.empty());
  CHECK(at::isfinite(ours.inputs).all().item<bool>());

  // The second row as text.
  std::string header, cells;
  for (const TableColumn& input : format.inputs) {
    const RawColumn& column = column_of(table, input.name);
    const bool is_date = input.reading.kind == CellKind::kDate;
    const std::string cell = !input.is_number()        ? words_of(column)[1]
                             : !is_date                ? fmt::format("{}", column.values[1])
                             : column.values[1] == 1.5 ? "1970-01-02 12:00"
                                                       : "2024-02-29";
    header += (header.empty() ? "" : ",") + input.name;
    cells += (cells.empty() ? "" : ",") + cell;
  }
  const TemporaryFolder folder;
  const fs::path text = folder.write("row.csv", header + "\n" + cells + "\n");
  CHECK(at::equal(encode_table(read_raw_table(text, again, false), again, false).inputs[0], ours.inputs[1]));
}

TEST_CASE("what a Parquet file cannot be used for is named") {
  use_module();
  const auto nested = [](const Words& ignored, const Words& targets = {"y"}) {
    return parquet_refusal([&] {
      read_raw_table(shipped("nested.parquet"), TableWish{.targets = targets, .ignored = ignored});
    });
  };
  const std::string all = nested({});
  CHECK_THAT(all, ContainsSubstring("column 'list' holds lists, which cannot become inputs; leave it out"));
  CHECK_THAT(all, ContainsSubstring("column 'pair' holds structs"));
  CHECK_THAT(all, ContainsSubstring("column 'raw' holds values of the type FIXED_LEN_BYTE_ARRAY"));
  CHECK(nested({"list", "pair", "raw"}) == "accepted");
  CHECK_THAT(parquet_refusal([] { read_raw_table(shipped("empty.parquet"), TableWish{.targets = {"y"}}); }),
             ContainsSubstring("no rows"));
  const RawTable numbered = read_raw_table(shipped("nested.parquet"),
                                           TableWish{.targets = {"x"}, .ignored = {"list", "pair", "raw"}});
  REQUIRE(numbered.warnings.size() == 1);
  CHECK_THAT(numbered.warnings[0], ContainsSubstring("column 'y' only numbers the rows (1, 2, 3, ...)"));
}

TEST_CASE("a summary of a Parquet file counts what is there") {
  use_module();
  const CsvSummary summary = summarise_csv(shipped("types.parquet"));
  CHECK(summary.rows == 5);
  const auto column = [&](const char* name) {
    return *std::ranges::find(summary.columns, name, &ColumnSummary::name);
  };
  CHECK(column("i8").is_whole);
  CHECK(column("i8").least == -128);
  CHECK(column("i8").missing == 1);
  CHECK(column("i8").different == 4);
  CHECK_FALSE(column("double").is_whole);
  CHECK(column("text").different == 3);
  CHECK_FALSE(column("text").is_number());
  CHECK(column("time_ns").reading.kind == CellKind::kDate);
  CHECK_FALSE(column("y").numbers_rows);
  CHECK(summarise_csv(shipped("nested.parquet")).columns[0].numbers_rows);
  CHECK_FALSE(summarise_csv(shipped("nested.parquet")).columns[1].refusal.empty());
}

// Reads all columns of a file that may be anything. Returns whether it was accepted.
bool survives(const fs::path& path) {
  const std::string said = parquet_refusal([&] {
    const ParquetTable file({path});
    for (size_t column = 0; column < file.columns().size(); ++column) {
      if (file.columns()[column].kind != ParquetKind::kOther)
        file.read(column, column % 2 == 0, [](const fs::path&, const ParquetCells&, int64_t) {});
    }
  });
  if (said != "accepted") CHECK(said.starts_with(path.string() + ": "));
  return said == "accepted";
}

TEST_CASE("a damaged Parquet file is refused with its name, and never read beyond") {
  use_module();
  const TemporaryFolder folder;
  const std::string whole = content_of(shipped("types.parquet")), old = content_of(shipped("old.parquet"));
  CHECK(survives(shipped("types.parquet")));
  for (const std::string& garbage : {std::string(), std::string("PAR1"), "PAR1" + std::string(100, 'x'),
                                     "PAR1" + std::string(100, '\xff') + "PAR1"})
    CHECK_FALSE(survives(folder.write("garbage.parquet", garbage)));
  for (size_t length = 4; length < whole.size(); length += 97)
    CHECK_FALSE(survives(folder.write("cut.parquet", whole.substr(0, length))));
  for (const std::string& content : {whole, old}) {
    for (size_t at = 4; at < content.size(); at += 5) {
      std::string bytes = content;
      bytes[at] = static_cast<char>(bytes[at] ^ (at % 3 == 0 ? 0xff : 1 << at % 8));
      survives(folder.write("flipped.parquet", bytes));
    }
  }
  // Pages with checksums are known to be damaged, whatever they hold: the first ones begin behind the magic.
  std::string damaged = old;
  for (size_t at = 30; at < 60; ++at) damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
  CHECK_FALSE(survives(folder.write("damaged.parquet", damaged)));
  CHECK_FALSE(is_parquet(folder.path()));
  CHECK_FALSE(is_parquet(folder / "none"));
}

TEST_CASE("single columns of Parquet files are words, by row, over all files, however many") {
  use_module();
  CHECK(read_cells(shipped("types.parquet"), "i16", {}) == Words{"-32768", "32767", "0", "", "1"});
  CHECK(read_times(shipped("nested.parquet"), "x", {}, {}) == Numbers{0.5, 1.5, 2.5});
  CHECK(read_groups(shipped("old.parquet"), "y", {}, {}) == std::vector<int64_t>{0, 1, 0, 1, 0});
  CHECK_THAT(parquet_refusal([] { read_groups(shipped("types.parquet"), "text", {}, {}); }),
             ContainsSubstring("column 'text', row 4: the value is missing"));
  CHECK_THAT(parquet_refusal([] { read_cells(shipped("nested.parquet"), "list", {}); }),
             ContainsSubstring("column 'list' holds lists"));
  // More files than a process may have open here.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit lower{120, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  const TablePath many("many", std::vector<fs::path>(150, shipped("nested.parquet")));
  Words cells;
  CHECK(parquet_refusal([&] { cells = read_cells(many, "y", {}); }) == "accepted");
  CHECK(cells.size() == 450);
  CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

#endif

}  // namespace
}  // namespace dtrain
