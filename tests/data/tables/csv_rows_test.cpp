// CSV text in pieces for several threads, compared with a reader that takes one byte after another.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <random>

#include "catch.h"
#include "core/error.h"
#include "core/text.h"
#include "csv/csv_file.h"
#include "files.h"
#include "sanitized.h"
#include "tables/csv_summary.h"
#include "tables/csv_table.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct ReadRows {
  std::vector<CsvRow> rows;  // those before the fault
  std::string fault;
  bool operator==(const ReadRows&) const = default;
};

// The rules, one byte after another.
class SimpleReader {
 public:
  SimpleReader(const std::string& text, char separator) : separator_(separator) {
    for (size_t at = 0; at < text.size() && read_.fault.empty(); ++at) take(text[at]);
    if (read_.fault.empty()) end();
  }
  ReadRows read() const { return read_; }

 private:
  enum class State { kRowBegins, kCellBegins, kPlain, kQuoted, kQuoteInQuoted, kAfterQuoted };

  void take(char byte) {
    const bool blank = (byte == ' ' || byte == '\t') && byte != separator_;
    const bool ends_cell = byte == separator_ || byte == '\n' || byte == '\r';
    switch (state_) {
      case State::kRowBegins:
        if (blank || byte == '\n' || byte == '\r') return;
        [[fallthrough]];
      case State::kCellBegins:
        if (blank) return;
        state_ = byte == '"' ? State::kQuoted : State::kPlain;
        if (ends_cell) return end_cell(byte);
        if (byte != '"') cell_ += byte;
        return;
      case State::kPlain:
        if (byte == '"') return refuse_quote();
        if (!ends_cell) {
          cell_ += byte;
          return;
        }
        while (!cell_.empty() && (cell_.back() == ' ' || cell_.back() == '\t')) cell_.pop_back();
        return end_cell(byte);
      case State::kQuoted:
        if (byte == '"') {
          state_ = State::kQuoteInQuoted;
        } else {
          cell_ += byte;
        }
        return;
      case State::kQuoteInQuoted:
        if (byte == '"') {
          cell_ += byte;
          state_ = State::kQuoted;
          return;
        }
        [[fallthrough]];
      case State::kAfterQuoted:
        if (ends_cell) return end_cell(byte);
        if (!blank) return refuse_quote();
        state_ = State::kAfterQuoted;
    }
  }
  void end() {
    if (state_ == State::kQuoted) return refuse_quote();
    if (state_ != State::kRowBegins) take('\n');
  }
  void end_cell(char byte) {
    row_.push_back(std::exchange(cell_, ""));
    state_ = State::kCellBegins;
    if (byte == separator_) return;
    state_ = State::kRowBegins;
    const CsvRow row = std::exchange(row_, {});
    const size_t columns = read_.rows.empty() ? row.size() : read_.rows.front().size();
    if (row.size() != columns)
      return refuse(fmt::format(" has {}, the header {}", counted(std::ssize(row), "cell"), columns));
    for (size_t column = 0; column < columns; ++column) {
      size_t at = 0;
      if (!is_clean_text(row[column], at))
        return refuse(
            fmt::format(", column {}: '{}' {}", column + 1, printable(row[column]),
                        row[column][at] == '\x7f'
                            ? "has the control character 0x7f; remove it"
                            : "is not UTF-8 text; convert the file, such as with iconv -f latin1 -t utf-8"));
    }
    read_.rows.push_back(row);
  }
  void refuse_quote() {
    refuse(": a quote that does not end, or one within a cell; a quote in a quoted cell is written twice");
  }
  void refuse(const std::string& fault) {
    read_.fault = (read_.rows.empty() ? "header" : fmt::format("row {}", read_.rows.size())) + fault;
  }

  const char separator_;
  State state_ = State::kRowBegins;
  std::string cell_;
  CsvRow row_;
  ReadRows read_;
};

ReadRows rows_in(const fs::path& path, const CsvPieces& pieces) {
  ReadRows read;
  try {
    read_csv(
        path, [&](const CsvRow& header) { read.rows.push_back(header); },
        [&](const CsvRows& rows) -> std::function<void()> {
          std::vector<CsvRow> some;
          for (int64_t row = 0; row < rows.size(); ++row)
            some.emplace_back(rows.row(row).begin(), rows.row(row).end());
          return [&read, some, first = rows.first] {
            CHECK(first == std::ssize(read.rows));
            read.rows.insert(read.rows.end(), some.begin(), some.end());
          };
        },
        {}, pieces);
  } catch (const Error& error) {
    read.fault = std::string(error.what()).substr(path.string().size() + 2);
  }
  return read;
}

class RandomTables {
 public:
  std::string next(char separator) {
    static const std::vector<std::string> cells = {"",
                                                   "1",
                                                   "-2.5",
                                                   " x y ",
                                                   "\t3",
                                                   "t\xC3\xBClip",
                                                   "\"\"",
                                                   "\"a\"\"b\"",
                                                   "\"\"\"\"",
                                                   "\"1\n2\"",
                                                   "\"\r\n\"",
                                                   " \"q\" ",
                                                   "\"a,b;c\td|e\"",
                                                   "\"\xE2\x82\xAC\"",
                                                   "longer than a piece"};
    static const std::vector<std::string> ends = {"\n", "\r\n", "\r", "\n\n", " \n \t\r\n"};
    static const std::vector<std::string> faults = {"\"",  "x\"", "\"x\"y", "caf\xE9", std::string(1, '\0'),
                                                    "\x7f"};
    const size_t columns = 1 + below(3);
    std::string text = one_in(4) ? "\xEF\xBB\xBF" : "";
    text += "h";
    for (size_t column = 1; column < columns; ++column) text += separator + std::string("h");
    for (size_t rows = 1 + below(12); rows > 0; --rows) {
      text += some_of(ends);
      for (size_t column = 0; column < columns; ++column) {
        if (column > 0) text += separator;
        text += one_in(60) ? some_of(faults) : some_of(cells);
        if (one_in(90)) text += separator;
      }
    }
    return one_in(2) ? text + some_of(ends) : text;
  }

 private:
  size_t below(size_t most) { return std::uniform_int_distribution<size_t>(0, most - 1)(random_); }
  bool one_in(size_t some) { return below(some) == 0; }
  const std::string& some_of(const std::vector<std::string>& all) { return all[below(all.size())]; }

  std::mt19937 random_{7};
};

TEST_CASE("rows are those of a simple reader, in pieces of any size and with any threads") {
  const TemporaryFolder folder;
  RandomTables tables;
  int64_t right = 0, refused = 0;
  constexpr int kRounds = few_if_sanitized(2000, 400);
  for (int round = 0; round < kRounds; ++round) {
    const char separator = ",;\t|"[round % 4];
    const std::string text = tables.next(separator);
    const fs::path path = folder.write("some.csv", text);
    const bool one_column = text.find(separator, 0) > text.find_first_of("\r\n");
    const ReadRows wanted =
        SimpleReader(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text, one_column ? ',' : separator)
            .read();
    ++(wanted.fault.empty() ? right : refused);
    for (const size_t bytes : {size_t{1}, size_t{5}, size_t{32}, size_t{1} << 18}) {
      INFO(printable(text, 2000) << " in pieces of " << bytes);
      const ReadRows read = rows_in(path, {bytes, 3});
      CHECK(read.fault == wanted.fault);
      CHECK((read.rows == wanted.rows || (!read.fault.empty() && read.rows.size() <= wanted.rows.size())));
    }
  }
  CHECK(right > kRounds / 10);
  CHECK(refused > kRounds / 10);
}

TEST_CASE("a row that does not end is refused, and not gathered in memory to the end of the file") {
  const TemporaryFolder folder;
  const std::string rows(size_t{80} << 20, 'x');
  const fs::path path = folder.write("open.csv", "a,b\n1,2\n3,\"" + rows);
  CHECK(rows_in(path, {}).fault == "row 2: a cell of more than 1 MiB; is a quote missing?");
}

std::string fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// Several pieces of rows with numbers and words.
std::string large_table(int rows, const std::function<std::string(int row)>& number) {
  std::string text = "n,word,y\n";
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{},w{},{}\n", number(row), row / 100 % 700, row % 2 == 0 ? "" : "2e-3");
  return text;
}

TEST_CASE("columns are whole, and words in the order of the file, from whatever pieces they come") {
  const TemporaryFolder folder;
  const int rows = 70'000;
  const std::string text = large_table(rows, [](int row) { return fmt::format("{}.25", row); });
  const RawTable table = read_raw_table(folder.write("large.csv", text), {.targets = {"y"}, .ignored = {}});
  REQUIRE(table.rows == rows);
  const RawColumn &number = table.columns.at(0), &word = table.columns.at(1), &target = table.columns.at(2);
  int wrong = 0;
  for (int row = 0; row < rows; ++row) {
    const auto at = static_cast<size_t>(row);
    wrong += number.values.at(at) != row + 0.25 || word.values.at(at) != row / 100 % 700 ||
             (row % 2 == 0 ? !std::isnan(target.values.at(at)) : target.values.at(at) != 2e-3);
  }
  CHECK(wrong == 0);
  REQUIRE(word.words.size() == 700);
  CHECK(word.words[699] == "w699");
  const std::vector<int64_t> training = {0, 5, 69'999};
  const TableFormat format = make_table_format(table, {.targets = {"y"}, .ignored = {}}, training);
  CHECK(format.inputs.at(1).categories == std::vector<std::string>{"w0", "w699"});
}

TEST_CASE("what columns hold is decided by all pieces") {
  const TemporaryFolder folder;
  const int rows = 70'000;
  const auto write = [&](int odd_row, const std::string& odd, int gap_row) {
    std::string text = "n;a;y\n";
    for (int row = 1; row <= rows; ++row)
      text += fmt::format("{};{};{}\n", row == gap_row ? 7 : row,
                          row == odd_row ? odd : fmt::format("{},5", row), row % 5);
    return folder.write("large.csv", text);
  };
  const TableWish wish{.targets = {"y"}, .ignored = {}};
  const RawTable table = read_raw_table(write(0, "", 0), wish);
  CHECK(table.columns.at(1).reading.style.decimal == ',');
  CHECK(table.columns.at(1).values.at(69'999) == 70'000.5);
  REQUIRE(table.warnings.size() == 1);
  CHECK_THAT(table.warnings[0], ContainsSubstring("column 'n' only numbers the rows (1, 2, 3, ...)"));
  CHECK(read_raw_table(write(0, "", 60'000), wish).warnings.empty());

  const fs::path odd = write(69'000, "O,5", 0);
  CHECK_THAT(fault_of([&] { read_raw_table(odd, wish); }),
             ContainsSubstring("column 'a', row 69000: 'O,5' is no number"));
  const CsvSummary summary = summarise_csv(odd);
  CHECK(summary.rows == rows);
  CHECK(summary.columns.at(0).numbers_rows);
  const ColumnSummary& column = summary.columns.at(1);
  CHECK(column.many);
  CHECK(column.least == 1.5);
  CHECK(column.most == 70'000.5);
  REQUIRE(column.odd.size() == 1);
  CHECK(column.odd[0].row == 69'000);
  CHECK(summary.columns.at(2).different == 5);
}

TEST_CASE("of several faults the first one in the file is told, with its row") {
  const TemporaryFolder folder;
  const std::string text = large_table(70'000, [](int row) {
    return row == 40'000 || row == 60'000 ? std::string("1e999") : std::to_string(row);
  });
  const fs::path path = folder.write("large.csv", text + "1,2\n");
  TableFormat format;
  format.inputs.push_back({.name = "n"});
  for (int round = 0; round < few_if_sanitized(20, 3); ++round)
    CHECK_THAT(fault_of([&] { read_raw_table(path, format, false); }), ContainsSubstring("row 40001"));
}

}  // namespace
}  // namespace dtrain
