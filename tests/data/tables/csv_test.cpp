// CSV files: how they are read, what becomes of their columns, and what is refused.
#include <ATen/ATen.h>
#include <zlib.h>

#include "catch.h"
#include "core/error.h"
#include "csv/csv_file.h"
#include "files.h"
#include "tables/csv_table.h"
#include "tables/growing_columns.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::vector<CsvRow> csv_rows(const fs::path& path, const CsvPieces& pieces = {}) {
  std::vector<CsvRow> all;
  read_csv(
      path, [&](const CsvRow& header) { all.push_back(header); },
      [&](const CsvRows& rows) -> std::function<void()> {
        std::vector<CsvRow> some;
        for (int64_t row = 0; row < rows.size(); ++row)
          some.emplace_back(rows.row(row).begin(), rows.row(row).end());
        return [&all, some, first = rows.first] {
          CHECK(first == std::ssize(all));
          all.insert(all.end(), some.begin(), some.end());
        };
      },
      {}, pieces);
  return all;
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.what();
  }
  return "accepted";
}

std::string csv_refusal(const TemporaryFolder& folder, const std::string& text) {
  const fs::path path = folder.write("bad.csv", text);
  return refusal([&] { csv_rows(path); });
}

TEST_CASE("cells are separated, quoted and trimmed") {
  const TemporaryFolder folder;
  const std::vector<CsvRow> wanted = {{"a", "b c", "d"}, {"1", "x, \"y\"\nz", ""}, {"2", "", "-3.5"}};
  for (const char* text :
       {"a,b c,d\n1,\"x, \"\"y\"\"\nz\",\n2,,-3.5\n",
        "a,b c,d\r\n1,\"x, \"\"y\"\"\nz\",\r\n\r\n2,,-3.5",  // Windows, an empty line, no end
        "\xEF\xBB\xBF"
        "a;b c;d\n1;\"x, \"\"y\"\"\nz\";\n2;;-3.5\n",
        "\n\r\na;b c;d\n1;\"x, \"\"y\"\"\nz\";\n2;;-3.5\n",  // empty lines before the header
        "a\tb c\td\n1\t\"x, \"\"y\"\"\nz\"\t\n2\t\t-3.5\n",
        "a,b c,d\n1,\"x, \"\"y\"\"\nz\",\n2,,-3.5\n\x1A",  // as old programs end a text
        "a | b c | d\n 1 | \"x, \"\"y\"\"\nz\" | \n2 || -3.5\n"}) {
    INFO(text);
    CHECK(csv_rows(folder.write("some.csv", text)) == wanted);
  }
}

TEST_CASE("a file in gzip is read as the one that was packed") {
  const TemporaryFolder folder;
  const fs::path path = folder / "some.csv.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzputs(file, "a,b\n1,2\n");
  gzclose(file);
  CHECK(csv_rows(path) == std::vector<CsvRow>{{"a", "b"}, {"1", "2"}});
  const std::string packed = content_of(path);
  const fs::path cut = folder.write("cut.csv.gz", packed.substr(0, packed.size() - 9));
  CHECK_THAT(refusal([&] { csv_rows(cut); }), ContainsSubstring("is damaged or cut off"));
}

TEST_CASE("what is no table is refused, with the row") {
  const TemporaryFolder folder;
  CHECK_THAT(csv_refusal(folder, ""), ContainsSubstring("is empty; the first line names the columns"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,2\n3\n"), ContainsSubstring("row 2 has 1 cell, the header 2"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,2,3\n"), ContainsSubstring("row 1 has 3 cells, the header 2"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,\"2\n3,4\n"), ContainsSubstring("a quote that does not end"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,\"2\"3\n"), ContainsSubstring("row 1: a quote"));
  CHECK_THAT(csv_refusal(folder, "a,\"" + std::string(3 << 20, 'x') + "\"\n"),
             ContainsSubstring("more than 1 MiB"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,2\n3,caf\xe9\n"),
             ContainsSubstring("row 2, column 2: 'caf\\xe9' is not UTF-8 text; convert the file"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,2\n3,x\x0By\n"),
             ContainsSubstring("row 2, column 2: 'x\\x0by' has the control character 0x0b; remove it"));
  CHECK_THAT(csv_refusal(folder, "a,b\n1,2\x1A\x1A"), ContainsSubstring("the control character 0x1a"));
  CHECK_THAT(csv_refusal(folder, std::string("a\0,\0b\0", 6)), ContainsSubstring("is not UTF-8 text"));
  for (const std::string workbook : {"PK\x03\x04,\n1", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"})
    CHECK_THAT(csv_refusal(folder, workbook),
               ContainsSubstring("is a workbook, as of Excel, or an archive") &&
                   ContainsSubstring("save the sheet as CSV"));
  std::string wide = "a";
  for (int column = 0; column < 1'000'000; ++column) wide += ",a";
  CHECK_THAT(csv_refusal(folder, wide + "\n"), ContainsSubstring("has more than 16,384 columns"));
  CHECK_THAT(refusal([&] { csv_rows(folder / "none.csv"); }), ContainsSubstring("cannot be opened"));
  CHECK_THAT(refusal([&] { csv_rows(folder.path()); }), ContainsSubstring("is not a regular file"));
}

TEST_CASE("a line is quoted where it has to be, and reads back") {
  const TemporaryFolder folder;
  const CsvRow row = {"plain", "with, comma", "with \"quotes\"", "two\nlines", ""};
  CHECK(csv_line(row) == "plain,\"with, comma\",\"with \"\"quotes\"\"\",\"two\nlines\",\"\"\n");
  CHECK(csv_rows(folder.write("some.csv", csv_line(row))) == std::vector<CsvRow>{row});
}

const char* const kHouses =
    "id,area,town,price\n"
    "1,50,Ulm,100\n"
    "2,70,Aalen,150\n"
    "3,90,Ulm,200\n"
    "4,1000,Essen,10\n";

TableWish wish_for(const std::string& target, bool classes = false) {
  return {.targets = {target}, .ignored = {"id"}, .classes = classes};
}

std::vector<double> table_numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous().view({-1});
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

TEST_CASE("numbers are standardised and words spread by the training rows alone") {
  const TemporaryFolder folder;
  const RawTable table = read_raw_table(folder.write("houses.csv", kHouses), wish_for("price"));
  CHECK(table.rows == 4);
  const std::vector<int64_t> training = {0, 1, 2};
  const TableFormat format = make_table_format(table, wish_for("price"), training);
  REQUIRE(format.inputs.size() == 2);
  CHECK(format.inputs[0].mean == Approx(70));
  CHECK(format.inputs[0].standard_deviation == Approx(16.329931618554522));  // of 50, 70, 90
  CHECK(format.inputs[1].categories == std::vector<std::string>{"Aalen", "Ulm"});
  CHECK(format.width() == 3);
  const TableTensors tensors = encode_table(table, format, true);
  const std::vector<double> inputs = table_numbers(tensors.inputs);
  CHECK(inputs[0] == Approx(-1.224744871391589));
  CHECK(std::vector<double>(inputs.begin() + 1, inputs.begin() + 3) == std::vector<double>{0, 1});
  CHECK(std::vector<double>(inputs.begin() + 4, inputs.begin() + 6) == std::vector<double>{1, 0});
  CHECK(std::vector<double>(inputs.begin() + 10, inputs.end()) ==
        std::vector<double>{0, 0});  // Essen is unknown
  CHECK(table_numbers(tensors.targets) == std::vector<double>{100, 150, 200, 10});
  CHECK(tensors.targets.sizes() == std::vector<int64_t>{4, 1});
  CHECK(parse_table_format(table_format_text(format)) == format);
  TableFormat elsewhere = format;
  elsewhere.inputs[0].standard_deviation *= 1 + 1e-15;  // as another processor rounds it
  CHECK(checksum_of(elsewhere) == checksum_of(format));
  elsewhere.inputs[0].mean = 71;
  CHECK(checksum_of(elsewhere) != checksum_of(format));
}

TEST_CASE("a saved format reads other files, with columns in another order and more of them") {
  const TemporaryFolder folder;
  const RawTable table = read_raw_table(folder.write("houses.csv", kHouses), wish_for("price"));
  const std::vector<int64_t> all = {0, 1, 2, 3};
  const TableFormat format = make_table_format(table, wish_for("price"), all);
  const fs::path other = folder.write("other.csv", "town,note,area\nUlm,x,50\nParis,,1000\n");
  const RawTable rows = read_raw_table(other, format, false);
  const at::Tensor inputs = encode_table(rows, format, false).inputs;
  const at::Tensor known = encode_table(table, format, true).inputs;
  CHECK(at::equal(inputs[0], known[0]));
  CHECK(table_numbers(inputs[1].narrow(0, 1, 3)) == std::vector<double>{0, 0, 0});
  CHECK(inputs[1][0].item<float>() == known[3][0].item<float>());
  CHECK_THAT(refusal([&] { read_raw_table(folder.write("short.csv", "town\nUlm\n"), format, false); }),
             ContainsSubstring("there is no column 'area'"));
  CHECK_THAT(refusal([&] { read_raw_table(other, format, true); }),
             ContainsSubstring("there is no column 'price'"));
}

TEST_CASE("classes are the words of the target, or its numbers in order") {
  const TemporaryFolder folder;
  const std::vector<int64_t> all = {0, 1, 2};
  const auto classes_of = [&](const std::string& text) {
    const RawTable table = read_raw_table(folder.write("some.csv", text), wish_for("y", true));
    const TableFormat format = make_table_format(table, wish_for("y", true), all);
    return std::pair(format.classes, table_numbers(encode_table(table, format, true).targets));
  };
  CHECK(classes_of("id,x,y\n1,1,yes\n2,2,no\n3,3,yes\n") ==
        std::pair(std::vector<std::string>{"no", "yes"}, std::vector<double>{1, 0, 1}));
  CHECK(classes_of("id,x,y\n1,1,10\n2,2,9\n3,3,10\n") ==
        std::pair(std::vector<std::string>{"9", "10"}, std::vector<double>{1, 0, 1}));
  CHECK_THAT(refusal([&] { classes_of("id,x,y\n1,1,a\n2,2,b\n3,3,a\n4,4,c\n"); }),
             ContainsSubstring("column 'y', row 4: 'c' is not a class of the training examples"));
}

TEST_CASE("missing values are refused or filled in, those of targets always refused") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("gaps.csv", "id,a,b,y\n1,1,u,1\n2,,v,2\n3,3,NA,3\n4,5,nan,4\n");
  TableWish wish = wish_for("y");
  const RawTable table = read_raw_table(path, wish);
  const std::vector<int64_t> all = {0, 1, 2, 3};
  CHECK_THAT(refusal([&] { encode_table(table, make_table_format(table, wish, all), true); }),
             ContainsSubstring("column 'a', row 2: the value is missing; data.missing: mean"));
  wish.fills_missing = true;
  const TableFormat format = make_table_format(table, wish, all);
  CHECK(format.inputs[0].mean == 3);  // of 1, 3 and 5
  const at::Tensor inputs = encode_table(table, format, true).inputs;
  CHECK(table_numbers(inputs[1]) == std::vector<double>{0, 0, 1});
  CHECK(table_numbers(inputs[2]) == std::vector<double>{0, 0, 0});
  const fs::path target = folder.write("target.csv", "id,a,y\n1,1,1\n2,2,\n");
  const RawTable without = read_raw_table(target, wish);
  const std::vector<int64_t> both = {0, 1};
  CHECK_THAT(refusal([&] { encode_table(without, make_table_format(without, wish, both), true); }),
             ContainsSubstring("column 'y', row 2: the value is missing; remove the row"));
}

TEST_CASE("what cannot be inputs or targets is refused, with the column") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text, const TableWish& wish) {
    const fs::path path = folder.write("bad.csv", text);
    return refusal([&] { read_raw_table(path, wish); });
  };
  CHECK_THAT(read("id,a,y\n1,1e999,2\n", wish_for("y")),
             ContainsSubstring("column 'a', row 1: '1e999' is not a finite number"));
  CHECK_THAT(read("id,a,y\n1,inf,2\n", wish_for("y")), ContainsSubstring("not a finite number"));
  CHECK_THAT(read("id,a,y\n1,1,x\n", wish_for("y")), ContainsSubstring("column 'y' has words"));
  CHECK_THAT(read("id,a,a\n1,1,x\n", wish_for("y")), ContainsSubstring("two columns are named 'a'"));
  CHECK_THAT(read("id,area,prise\n1,1,2\n", wish_for("price")),
             ContainsSubstring("there is no column 'price'") && ContainsSubstring("prise"));
  CHECK_THAT(read("a,y\n1,2\n", wish_for("y")), ContainsSubstring("there is no column 'id'"));
  CHECK_THAT(read("id,,y\n1,1,2\n", wish_for("y")), ContainsSubstring("no name for column 2"));
  CHECK_THAT(read("sep=;\nid;a;y\n1;1;2\n", wish_for("y")),
             ContainsSubstring("says what separates the cells, for Excel"));
  CHECK_THAT(read("id,a,y\n", wish_for("y")), ContainsSubstring("has a header and no rows"));
  std::string names = "id,name,y\n";
  for (int row = 0; row < 1001; ++row) names += "1,n" + std::to_string(row) + ",2\n";
  CHECK_THAT(read(names, wish_for("y")),
             ContainsSubstring("more than 1000 different values, which are no categories"));
  TableWish classes = wish_for("y");
  classes.classes = true;
  std::string numbers = "id,a,y\n";
  for (int row = 0; row < 1001; ++row) numbers += "1,1," + std::to_string(row) + "\n";
  CHECK_THAT(read(numbers, classes), ContainsSubstring("more than 1000 different values") &&
                                         ContainsSubstring("use train.loss: mean_squared_error"));
  const RawTable only = read_raw_table(folder.write("only.csv", "id,y\n1,2\n"), wish_for("y"));
  const std::vector<int64_t> one = {0};
  CHECK_THAT(refusal([&] { make_table_format(only, wish_for("y"), one); }),
             ContainsSubstring("has no columns besides the targets"));
}

// 400 rows, of which row 124 has this cell in the column a.
std::string table_with(const std::string& cell) {
  std::string text = "a,b,y\n";
  for (int row = 1; row <= 400; ++row) {
    const double a = 0.5 + row % 7, b = row % 11;
    text += (row == 124 ? cell : std::to_string(a)) + "," + std::to_string(b) + "," +
            std::to_string(2 * a - b) + "\n";
  }
  return text;
}

TEST_CASE("one cell that is no number does not make words of a column of numbers") {
  const TemporaryFolder folder;
  TableWish wish{.targets = {"y"}};
  for (const std::string cell : {"O.5", "?", "-", "None", "1_000", "5%", "0x10", "\"1,234.5\""}) {
    INFO(cell);
    const fs::path path = folder.write("some.csv", table_with(cell));
    const std::string shown = cell[0] == '"' ? "1,234.5" : cell;
    CHECK_THAT(
        refusal([&] { read_raw_table(path, wish); }),
        ContainsSubstring("column 'a', row 124: '" + shown + "' is no number, and 399 of 400 cells are") &&
            ContainsSubstring("with data.missing_values: [") &&
            ContainsSubstring("data.columns: {a: words}") && ContainsSubstring("{a: ignore}"));
  }
  const fs::path path = folder.write("some.csv", table_with("\"1,234.5\""));
  CHECK_THAT(refusal([&] { read_raw_table(path, wish); }),
             ContainsSubstring("or read it as 1234.5 with data.thousands: comma"));
  wish.style.thousands = ',';
  CHECK(read_raw_table(path, wish).columns[0].values[123] == 1234.5);
  const fs::path marked = folder.write("marked.csv", table_with("?"));
  wish = {.targets = {"y"}, .missing_values = {"?"}};
  CHECK(std::isnan(read_raw_table(marked, wish).columns[0].values[123]));
  wish = {.targets = {"y"}, .kinds = {{"a", "words"}}};
  CHECK(read_raw_table(marked, wish).columns[0].words.size() == 8);
  wish.kinds = {{"a", "ignore"}};
  CHECK(read_raw_table(marked, wish).columns.size() == 2);
  wish.kinds = {{"b", "words"}, {"a", "number"}};
  CHECK_THAT(refusal([&] { read_raw_table(marked, wish); }), ContainsSubstring("column 'a', row 124: '?'"));
  wish.kinds = {{"c", "words"}};
  CHECK_THAT(refusal([&] { read_raw_table(marked, wish); }), ContainsSubstring("there is no column 'c'"));
  // Four of five are no nine tenths.
  const fs::path few = folder.write("few.csv", "a,y\n1,1\n2,1\n3,1\n4,1\nx,1\n");
  CHECK(read_raw_table(few, {.targets = {"y"}}).columns[0].words.size() == 5);
  // A class is no exception.
  std::string classes = "a,y\n";
  for (int row = 0; row < 20; ++row)
    classes += "1.5," + (row == 7 ? std::string("l") : std::to_string(row % 2)) + "\n";
  CHECK_THAT(
      refusal([&] { read_raw_table(folder.write("y.csv", classes), {.targets = {"y"}, .classes = true}); }),
      ContainsSubstring("column 'y', row 8: 'l' is no number"));
}

TEST_CASE("a table of a German Excel has its numbers") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("some.csv",
                                     "\xEF\xBB\xBFNr;Einwohner;Anteil;Stadt;Preis\r\n"
                                     "1;1.234;0,5;Ulm;1.234.567,89\r\n"
                                     "2;999;1,25;Gera;-3\r\n"
                                     "3;12.000;2;Ulm;7,5\r\n");
  const RawTable table = read_raw_table(path, {.targets = {"Preis"}});
  CHECK(table.separator == ';');
  CHECK(table.columns[1].values == std::vector<double>{1234, 999, 12000});
  CHECK(table.columns[2].values == std::vector<double>{0.5, 1.25, 2});
  CHECK(table.columns[3].words == std::vector<std::string>{"Ulm", "Gera"});
  CHECK(table.columns[4].values == std::vector<double>{1234567.89, -3, 7.5});
  REQUIRE(table.warnings.size() == 1);
  CHECK_THAT(table.warnings[0],
             ContainsSubstring("column 'Nr' only numbers the rows (1, 2, 3, ...)") &&
                 ContainsSubstring("data.ignore: [Nr] leaves it out, and data.id repeats"));
  // A model of it reads other files in the same way, with one column, too.
  const std::vector<int64_t> all = {0, 1, 2};
  const TableFormat format = make_table_format(table, {.targets = {"Preis"}}, all);
  CHECK(parse_table_format(table_format_text(format)) == format);
  CHECK(format.inputs[1].reading.style == NumberStyle{',', '.'});
  TableFormat one = format;
  one.inputs = {format.inputs[2]};
  const RawTable later = read_raw_table(folder.write("later.csv", "Anteil\n0,75\n"), one, false);
  CHECK(later.columns[0].values == std::vector<double>{0.75});
  CHECK_THAT(refusal([&] { read_raw_table(folder.write("us.csv", "Anteil\n0.75\n"), one, false); }),
             ContainsSubstring("'0.75' is not a finite number with a decimal comma and thousands points"));
  const TableWish tabs{.targets = {"y"}, .separator = '\t'};
  CHECK(read_raw_table(folder.write("tab.csv", "a,b,c\ty\n1\t2\n"), tabs).columns[0].name == "a,b,c");
}

TEST_CASE("dates become words only if that is asked for") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("some.csv", "sold,y\n2024-02-29,1\n2024-03-01,2\n1970-01-01,3\n");
  CHECK_THAT(
      refusal([&] { read_raw_table(path, {.targets = {"y"}}); }),
      ContainsSubstring("column 'sold', row 1: '2024-02-29' is a date, as 3 of 3 cells are; data.columns: "
                        "{sold: date} makes numbers of them"));
  const TableWish wish{.targets = {"y"}, .kinds = {{"sold", "date"}}};
  const RawTable table = read_raw_table(path, wish);
  CHECK(table.columns[0].values == std::vector<double>{19782, 19783, 0});
  const std::vector<int64_t> all = {0, 1, 2};
  const TableFormat format = make_table_format(table, wish, all);
  CHECK(format.width() == 1);
  CHECK(parse_table_format(table_format_text(format)) == format);
  CHECK_THAT(refusal([&] { read_raw_table(folder.write("b.csv", "sold\n29.2.2023\n"), format, false); }),
             ContainsSubstring("column 'sold', row 1: '29.2.2023' is not a date such as 2024-12-31"));
  CHECK(read_raw_table(path, {.targets = {"y"}, .kinds = {{"sold", "words"}}}).columns[0].words.size() == 3);
  // A missing date is the mean, which is 0 for the model; times are parts of days.
  const TableWish fills{.targets = {"y"}, .fills_missing = true, .kinds = {{"sold", "date"}}};
  const RawTable gap = read_raw_table(
      folder.write("gap.csv", "sold,y\n2024-05-01T12:00Z,1\n,2\n2024-05-03T14:00+02:00,3\n"), fills);
  const at::Tensor inputs = encode_table(gap, make_table_format(gap, fills, all), true).inputs;
  CHECK(inputs.equal(at::tensor({-1.F, 0.F, 1.F}).view({3, 1})));
}

TEST_CASE("a column is said to number the rows if it does, whatever its name is") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& text, const TableWish& wish) {
    return read_raw_table(folder.write("some.csv", text), wish).warnings.size();
  };
  const TableWish wish{.targets = {"y"}};
  CHECK(warnings("Lfd,y\n1,5\n2,5\n3,6\n", wish) == 1);
  CHECK(warnings("Lfd,y\n0,5\n1,5\n2,6\n", wish) == 1);
  CHECK(warnings("Lfd,y\n2,5\n3,5\n4,6\n", wish) == 0);
  CHECK(warnings("Lfd,y\n1,5\n3,5\n2,6\n", wish) == 0);
  CHECK(warnings("a,y\n5,1\n5,2\n6,3\n", wish) == 0);  // the target may
  CHECK(warnings("Lfd,y\n1,5\n2,5\n3,6\n", {.targets = {"y"}, .kinds = {{"Lfd", "number"}}}) == 0);
}

TEST_CASE("words that no training example has are counted, with an example") {
  const TemporaryFolder folder;
  const RawTable table = read_raw_table(folder.write("houses.csv", kHouses), wish_for("price"));
  const std::vector<int64_t> training = {0, 1, 2};
  const TableFormat format = make_table_format(table, wish_for("price"), training);
  CHECK(encode_table(table, format, true).unknown_words ==
        std::vector<std::string>{"column 'town', 1 of 4 rows: a word that no training example has, such as "
                                 "'Essen' (row 4); it counts as none of the categories"});
  const RawTable later =
      read_raw_table(folder.write("b.csv", "area,town\n1,Ulm\n1,Paris\n2,Rome\n"), format, false);
  const std::vector<std::string> lines = encode_table(later, format, false).unknown_words;
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0],
             ContainsSubstring("column 'town', 2 of 3 rows:") && ContainsSubstring("'Paris' (row 2)"));
}

TEST_CASE("a class is the same however its number is written") {
  const TemporaryFolder folder;
  const fs::path path = folder.write("some.csv", "x,y\n1.5,0\n2.5,1.0\n2,0.0\n7,1\n");
  const TableWish wish{.targets = {"y"}, .classes = true};
  const RawTable table = read_raw_table(path, wish);
  const std::vector<int64_t> all = {0, 1, 2, 3};
  const TableFormat format = make_table_format(table, wish, all);
  CHECK(format.classes == std::vector<std::string>{"0", "1.0"});
  CHECK(table_numbers(encode_table(table, format, true).targets) == std::vector<double>{0, 1, 0, 1});
  const RawTable later = read_raw_table(folder.write("b.csv", "x,y\n1,1.00\n1,+0\n"), format, true);
  CHECK(table_numbers(encode_table(later, format, true).targets) == std::vector<double>{1, 0});
  CHECK_THAT(refusal([&] {
               encode_table(read_raw_table(folder.write("c.csv", "x,y\n1,15.85\n"), format, true), format,
                            true);
             }),
             ContainsSubstring("'15.85' is not a class of the training examples; the column holds numbers") &&
                 ContainsSubstring("train.loss: mean_squared_error"));
  const TableWish words{.targets = {"y"}, .classes = true, .kinds = {{"y", "words"}}};
  CHECK(make_table_format(read_raw_table(path, words), words, all).classes ==
        std::vector<std::string>{"0", "0.0", "1", "1.0"});
  // What earlier versions have saved.
  const TableFormat earlier = parse_table_format(
      R"({"inputs":[{"name":"x","mean":0,"standard_deviation":1}],"targets":["y"],"classes":["0","1"],"fills_missing":false})");
  CHECK(earlier.target_readings.front().kind == CellKind::kWord);
  CHECK(earlier.inputs[0].reading == ColumnReading());
}

TEST_CASE("whole numbers that double does not tell apart are classes of their own") {
  const TemporaryFolder folder;
  const TableWish wish{.targets = {"y"}, .classes = true};
  const RawTable table = read_raw_table(
      folder.write("some.csv", "x,y\n1,9007199254740993\n2,9007199254740992\n3,+09007199254740993\n"), wish);
  const std::vector<int64_t> all = {0, 1, 2};
  const TableFormat format = make_table_format(table, wish, all);
  CHECK(format.classes == std::vector<std::string>{"9007199254740992", "9007199254740993"});
  CHECK(table_numbers(encode_table(table, format, true).targets) == std::vector<double>{1, 0, 1});
  WordIndex german({CellKind::kNumber, {',', '.'}}, {"9.007.199.254.740.993"});
  CHECK(german.find("9007199254740993") == 0U);
  CHECK_FALSE(german.find("-9007199254740993"));
  CHECK_FALSE(german.find("9.007.199.254.740.992"));
  german.add("1e300");
  CHECK(german.find("10,0e299") == 1U);
  german.add("10.000.000.000.000.000");
  CHECK(german.find("1e16") == 2U);
  CHECK(german.find("10000000000000000,0") == 2U);
}

TEST_CASE("a column without variation stays finite") {
  const TemporaryFolder folder;
  const RawTable table =
      read_raw_table(folder.write("flat.csv", "id,a,y\n1,0.1,1\n2,0.1,2\n3,0.1,3\n"), wish_for("y"));
  const std::vector<int64_t> all = {0, 1, 2};
  const TableFormat format = make_table_format(table, wish_for("y"), all);
  CHECK(format.inputs[0].standard_deviation == 1);
  CHECK(encode_table(table, format, true).inputs.abs().max().item<float>() < 1e-12F);
}

TEST_CASE("a number that makes its column infinite is refused, unless it means a missing value") {
  const TemporaryFolder folder;
  const std::vector<int64_t> all = {0, 1, 2};
  for (const std::string code : {"-1.7976931348623157e308", "1e200", "1e300"}) {
    INFO(code);
    const fs::path path = folder.write(
        "coded.csv", "id,a,y\n1,0.5,1\n2," + code + ",2\n3," + (code == "1e300" ? code : "0.25") + ",3\n");
    TableWish wish = wish_for("y");
    const RawTable table = read_raw_table(path, wish);
    const TableFormat format = make_table_format(table, wish, all);
    CHECK_THAT(refusal([&] { encode_table(table, format, true); }),
               ContainsSubstring("column 'a', row 2: ") && ContainsSubstring("data.missing_values"));
    wish.missing_values = {code};
    wish.fills_missing = true;
    const RawTable without = read_raw_table(path, wish);
    const at::Tensor inputs = encode_table(without, make_table_format(without, wish, all), true).inputs;
    CHECK(inputs[1][0].item<float>() == 0);
    CHECK(at::isfinite(inputs).all().item<bool>());
  }
  // A saved format meets such a number when the model is used.
  const RawTable sound =
      read_raw_table(folder.write("sound.csv", "id,a,y\n1,1,1\n2,2,2\n3,4,3\n"), wish_for("y"));
  const TableFormat saved = make_table_format(sound, wish_for("y"), all);
  const auto predicted = [&](const std::string& number) {
    const RawTable rows = read_raw_table(folder.write("new.csv", "a\n3\n" + number + "\n"), saved, false);
    return refusal([&] { encode_table(rows, saved, false); });
  };
  CHECK(predicted("1e38") == "accepted");
  CHECK_THAT(predicted("-1e39"), ContainsSubstring("column 'a', row 2: -1e+39 is too large"));
}

TEST_CASE("a table of more cells than are read is refused by its rows and columns") {
  const auto cells = [](int64_t rows, int64_t columns) {
    return refusal([&] { require_cells("large.csv", rows, columns); });
  };
  CHECK(cells(kMaxTableCells / 5, 5) == "accepted");
  CHECK(cells(5, 0) == "accepted");
  CHECK(cells(kMaxTableCells / 5 + 1, 5) ==
        "large.csv: 107,374,183 rows of 5 columns to read are more than 536,870,912 cells; leave columns out "
        "with data.ignore");
}

TEST_CASE("a format that dtrain did not save is refused") {
  for (
      const char* text :
      {"", "{}", "[]", R"({"inputs":[],"targets":["y"],"classes":[],"fills_missing":false})",
       R"({"inputs":[{"name":"a","mean":0,"standard_deviation":0}],"targets":["y"],"classes":[],"fills_missing":false})",
       R"({"inputs":[{"name":"a"}],"targets":["y"],"classes":[],"fills_missing":false})"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_table_format(text), Error);
  }
}

}  // namespace
}  // namespace dtrain
