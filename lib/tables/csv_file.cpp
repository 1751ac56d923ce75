#include "tables/csv_file.h"

#include <csv.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

[[noreturn]] void refuse_csv(const std::filesystem::path& path, const std::string& what, int error = 0) {
  throw Error(file_failure_code(error, ExitCode::kData),
              fmt::format("{}: {}", printable(path.string(), 1000), what));
}

// The bytes of a file; unpacked, if it is gzip.
class UnpackedFile {
 public:
  explicit UnpackedFile(const std::filesystem::path& path) : path_(path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
      refuse_csv(path, fmt::format("cannot be opened: {}", std::strerror(errno)), errno);
    if (!S_ISREG(status.st_mode)) refuse_csv(path, "is not a regular file");
    file_ = ::gzopen(path.c_str(), "rbe");
    if (file_ == nullptr) refuse_csv(path, fmt::format("cannot be opened: {}", std::strerror(errno)), errno);
  }
  ~UnpackedFile() { ::gzclose_r(file_); }
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  // The next bytes, at most kChunkBytes; none at the end.
  std::string_view next() {
    const int got = ::gzread(file_, chunk_.data(), kChunkBytes);
    int fault = Z_OK;
    const char* const text = ::gzerror(file_, &fault);
    if (fault == Z_MEM_ERROR) throw std::bad_alloc();
    if (got < 0 || (got == 0 && fault != Z_OK))
      refuse_csv(path_, fmt::format("is damaged or cut off: {}", text), fault == Z_ERRNO ? errno : 0);
    return {chunk_.data(), static_cast<size_t>(got)};
  }

 private:
  const std::filesystem::path& path_;
  gzFile file_ = nullptr;
  std::array<char, kChunkBytes> chunk_{};
};

// libcsv is C, through which no exception may pass: its callbacks only collect, and next() looks at it
// afterwards.
struct Collected {
  CsvRow row;
  std::vector<CsvRow> rows;
  bool too_many = false;
  bool no_memory = false;
};

void on_cell(void* text, size_t bytes, void* data) {
  auto& collected = *static_cast<Collected*>(data);
  try {
    if (collected.row.size() >= kMaxCsvColumns) {
      collected.too_many = true;
    } else {
      collected.row.emplace_back(static_cast<const char*>(text), bytes);
    }
  } catch (...) {
    collected.no_memory = true;
  }
}

void on_end_of_row(int, void* data) {
  auto& collected = *static_cast<Collected*>(data);
  try {
    collected.rows.push_back(std::move(collected.row));
    collected.row.clear();
  } catch (...) {
    collected.no_memory = true;
  }
}

char separator_of(std::string_view text, const CsvSeparator& wanted) {
  if (wanted.always) return wanted.sign;
  constexpr std::string_view kSeparators = ",;\t|";
  std::array<size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char byte : text) {
    if (byte == '"') quoted = !quoted;
    if (quoted) continue;
    if (byte == '\n' || byte == '\r') break;
    if (const size_t known = kSeparators.find(byte); known != std::string_view::npos) ++counts[known];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  const size_t preferred = kSeparators.find(wanted.sign);
  if (preferred != std::string_view::npos && (counts[preferred] > 0 || *most == 0)) return wanted.sign;
  return kSeparators[static_cast<size_t>(most - counts.begin())];
}

// Words are kept with the model, as JSON and in messages: both are UTF-8.
void require_text(const std::filesystem::path& path, int64_t row, const CsvRow& cells) {
  for (size_t column = 0; column < cells.size(); ++column) {
    size_t at = 0;
    if (is_clean_text(cells[column], at)) continue;
    refuse_csv(
        path,
        fmt::format("{}, column {}: '{}' is not UTF-8 text; convert the file, such as with iconv "
                    "-f latin1 -t utf-8",
                    row == 0 ? "header" : fmt::format("row {}", row), column + 1, printable(cells[column])));
  }
}

class CsvParser {
 public:
  CsvParser(const std::filesystem::path& path, char separator) : path_(path) {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    csv_set_delim(&parser_, static_cast<unsigned char>(separator));
  }
  ~CsvParser() { csv_free(&parser_); }
  CsvParser(const CsvParser&) = delete;
  CsvParser& operator=(const CsvParser&) = delete;

  // The rows that end in `text`, which follows what was parsed before.
  std::vector<CsvRow> parse(std::string_view text) {
    const size_t parsed = csv_parse(&parser_, text.data(), text.size(), on_cell, on_end_of_row, &collected_);
    if (parsed != text.size() || csv_get_buffer_size(&parser_) > kMaxCsvCellBytes + kChunkBytes) fail();
    return take();
  }
  std::vector<CsvRow> finish() {
    if (csv_fini(&parser_, on_cell, on_end_of_row, &collected_) != 0) fail();
    return take();
  }

 private:
  std::vector<CsvRow> take() {
    if (collected_.no_memory) throw std::bad_alloc();
    if (collected_.too_many)
      refuse_csv(path_, fmt::format("has more than {} columns", with_separators(kMaxCsvColumns)));
    seen_ += std::ssize(collected_.rows);
    return std::exchange(collected_.rows, {});
  }
  [[noreturn]] void fail() {
    if (csv_error(&parser_) == CSV_ENOMEM) throw std::bad_alloc();
    seen_ += std::ssize(collected_.rows);
    const bool long_cell = csv_error(&parser_) == CSV_SUCCESS;
    refuse_csv(path_, fmt::format("{}: {}", seen_ == 0 ? "header" : fmt::format("row {}", seen_),
                                  long_cell ? "a cell of more than 1 MiB; is a quote missing?"
                                            : "a quote that does not end, or one within a cell; a quote in a "
                                              "quoted cell is written twice"));
  }

  const std::filesystem::path& path_;
  csv_parser parser_{};
  Collected collected_;
  int64_t seen_ = 0;  // rows
};

}  // namespace

char read_csv(const std::filesystem::path& path,
              const std::function<void(int64_t number, const CsvRow& row)>& on_row,
              const CsvSeparator& separator) {
  UnpackedFile file(path);
  std::string_view text = file.next();
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  const char separates = separator_of(text, separator);
  CsvParser parser(path, separates);
  int64_t number = 0;
  size_t columns = 0;
  const auto pass_on = [&](const std::vector<CsvRow>& rows) {
    for (const CsvRow& row : rows) {
      if (number == 0) columns = row.size();
      if (row.size() != columns)
        refuse_csv(path, fmt::format("row {} has {}, the header {}", number, counted(std::ssize(row), "cell"),
                                     columns));
      require_text(path, number, row);
      on_row(number++, row);
    }
  };
  for (; !text.empty(); text = file.next()) pass_on(parser.parse(text));
  pass_on(parser.finish());
  if (number == 0) refuse_csv(path, "is empty; the first line names the columns");
  return separates;
}

std::string csv_line(const CsvRow& row) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    if (row[i].find_first_of(",;\t|\"\r\n") == std::string::npos && !row[i].empty()) {
      line += row[i];
      continue;
    }
    line += '"';
    for (const char byte : row[i]) line += byte == '"' ? std::string("\"\"") : std::string(1, byte);
    line += '"';
  }
  return line + "\n";
}

}  // namespace dtrain
