#include "csv/csv_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>

#include "core/data_errors.h"
#include "core/parallel.h"
#include "core/text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

constexpr size_t kMaxCsvColumns = 16'384;
constexpr size_t kMaxCsvRowBytes = size_t{1} << 26;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr char kEndOfFile = 0x1A;  // as old programs end a text
constexpr std::array<std::string_view, 2> kWorkbooks = {"PK\x03\x04",
                                                        "\xD0\xCF\x11\xE0"};  // .xlsx (zip), .xls
constexpr unsigned kUnpackedAtOnce = 1u << 17;

// The bytes of a file; unpacked, if it is gzip.
class UnpackedFile {
 public:
  explicit UnpackedFile(const std::filesystem::path& path) : path_(path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail_on_file(path, "cannot be opened", errno);
    if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
    file_ = ::gzopen(path.c_str(), "rbe");
    if (file_ == nullptr) fail_on_file(path, "cannot be opened", errno);
    ::gzbuffer(file_, kUnpackedAtOnce);
  }
  ~UnpackedFile() { ::gzclose_r(file_); }
  UnpackedFile(UnpackedFile&&) = delete;  // nor copied

  // Appends the next bytes to `text`, at most that many. Returns how many: none at the end.
  size_t read(std::string& text, size_t bytes) {
    const size_t before = text.size();
    text.resize(before + bytes);
    const int got = ::gzread(file_, text.data() + before, static_cast<unsigned>(bytes));
    int fault = Z_OK;
    const char* const what = ::gzerror(file_, &fault);
    if (fault == Z_MEM_ERROR) throw std::bad_alloc();
    if (fault == Z_ERRNO) fail_on_file(path_, "cannot be read", errno);
    if (got < 0 || (got == 0 && fault != Z_OK)) refuse_file(path_, "is damaged or cut off: {}", what);
    text.resize(before + static_cast<size_t>(got));
    return static_cast<size_t>(got);
  }

 private:
  const std::filesystem::path& path_;
  gzFile file_ = nullptr;
};

constexpr const char* kBadQuote =
    ": a quote that does not end, or one within a cell; a quote in a quoted cell is written twice";
constexpr const char* kLongCell = ": a cell of more than 1 MiB; is a quote missing?";

// Words are kept with the model, as JSON and in messages: both are UTF-8. Most texts need no closer look.
bool is_plain(std::string_view text) {
  unsigned odd = 0;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    odd |= static_cast<unsigned>(value >= 0x7f) |
           (static_cast<unsigned>(value < 0x20) & static_cast<unsigned>(value != '\t') &
            static_cast<unsigned>(value != '\n') & static_cast<unsigned>(value != '\r'));
  }
  return odd == 0;
}

class RowSplitter {
 public:
  RowSplitter(std::string& text, char separator, CsvRows& rows)
      : at_(text.data()),
        end_(text.data() + text.size()),
        separator_(separator),
        checks_text_(!is_plain(text)),
        rows_(rows) {
    for (const char byte : {separator, '"', '\n', '\r'}) ends_run_[static_cast<unsigned char>(byte)] = true;
  }

  // Whether there was a row, and nothing wrong with it.
  bool next() {
    while (at_ != end_ && (ends_line() || is_blank())) ++at_;
    if (at_ == end_) return false;
    const size_t begin = rows_.cells.size();
    const char* fault = nullptr;
    while (true) {
      while (at_ != end_ && is_blank()) ++at_;
      fault = at_ != end_ && *at_ == '"' ? add_quoted() : add_unquoted();
      if (fault != nullptr || at_ == end_ || ends_line()) break;
      ++at_;  // the separator
      if (rows_.cells.size() - begin == kMaxCsvColumns)
        return refuse(begin, fmt::format(" has more than {} columns", with_separators(kMaxCsvColumns)));
    }
    return fault == nullptr ? is_right(begin) : refuse(begin, fault);
  }

 private:
  bool ends_line() const { return *at_ == '\n' || *at_ == '\r'; }
  bool is_blank() const { return (*at_ == ' ' || *at_ == '\t') && *at_ != separator_; }

  // Both go to the separator or the end of the line, and return what is wrong.
  const char* add_unquoted() {
    const char* const begin = at_;
    while (at_ != end_ && !ends_run_[static_cast<unsigned char>(*at_)]) ++at_;
    if (at_ != end_ && *at_ == '"') return kBadQuote;
    const char* last = at_;
    while (last != begin && (last[-1] == ' ' || last[-1] == '\t')) --last;
    return add(begin, last);
  }
  const char* add_quoted() {
    char* const begin = ++at_;
    char* last = begin;
    while (true) {
      auto* const quote = static_cast<char*>(std::memchr(at_, '"', static_cast<size_t>(end_ - at_)));
      if (quote == nullptr)
        return static_cast<size_t>(end_ - begin) > kMaxCsvCellBytes ? kLongCell : kBadQuote;
      if (last != at_) std::memmove(last, at_, static_cast<size_t>(quote - at_));
      last += quote - at_;
      at_ = quote + 1;
      if (at_ == end_ || *at_ != '"') break;
      *last++ = *at_++;
    }
    while (at_ != end_ && is_blank()) ++at_;
    return at_ == end_ || ends_line() || *at_ == separator_ ? add(begin, last) : kBadQuote;
  }
  const char* add(const char* begin, const char* end) {
    const auto bytes = static_cast<size_t>(end - begin);
    if (bytes > kMaxCsvCellBytes) return kLongCell;
    rows_.cells.emplace_back(begin, bytes);
    return nullptr;
  }

  bool is_right(size_t begin) {
    const size_t count = rows_.cells.size() - begin;
    if (rows_.columns == 0) rows_.columns = count;
    if (count != rows_.columns)
      return refuse(begin, fmt::format(" has {}, the header {}", counted(static_cast<int64_t>(count), "cell"),
                                       rows_.columns));
    for (size_t column = 0; checks_text_ && column < count; ++column) {
      const std::string_view cell = rows_.cells[begin + column];
      size_t at = 0;
      if (is_plain(cell) || is_clean_text(std::string(cell), at)) continue;
      const auto byte = static_cast<unsigned char>(cell[at]);
      const bool is_control = byte != 0 && byte < 0x80;  // zeros are rather of UTF-16
      return refuse(
          begin, fmt::format(", column {}: '{}' {}", column + 1, printable(std::string(cell)),
                             is_control ? fmt::format("has the control character 0x{:02x}; remove it", byte)
                                        : "is not UTF-8 text; convert the file, such as with "
                                          "iconv -f latin1 -t utf-8"));
    }
    return true;
  }
  bool refuse(size_t begin, std::string fault) {
    rows_.cells.resize(begin);
    rows_.fault = std::move(fault);
    return false;
  }

  char* at_;
  char* const end_;
  const char separator_;
  const bool checks_text_;
  std::array<bool, 256> ends_run_{};  // of bytes of an unquoted cell
  CsvRows& rows_;
};

// Puts the rows of `text` into `rows`, those before the first one that is wrong. Empty lines are left out.
// Without `rows.columns` the first row decides them. Changes the text: a quote that is written twice in a
// quoted cell becomes one.
void split_rows(std::string& text, char separator, CsvRows& rows) {
  rows.cells.clear();
  rows.fault.clear();
  RowSplitter splitter(text, separator, rows);
  while (splitter.next()) {
  }
}

char separator_of(std::string_view text, const CsvSeparator& wanted) {
  if (wanted.always) return wanted.sign;
  constexpr std::string_view kSeparators = ",;\t|";
  std::array<size_t, kSeparators.size()> counts{};
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));  // empty lines
  bool quoted = false;
  for (const char byte : text) {
    if (byte == '"') quoted = !quoted;
    if (quoted) continue;
    if (byte == '\n' || byte == '\r') break;
    if (const size_t known = kSeparators.find(byte); known != std::string_view::npos) ++counts[known];
  }
  const auto most = std::ranges::max_element(counts);
  const size_t preferred = kSeparators.find(wanted.sign);
  if (preferred != std::string_view::npos && (counts[preferred] > 0 || *most == 0)) return wanted.sign;
  return kSeparators[static_cast<size_t>(most - counts.begin())];
}

// Some rows of a file, in the text that they came from.
struct Piece {
  int64_t number = 0;
  std::string text;
  bool is_whole = true;  // it ends with a row
  CsvRows rows;
};

// Cuts a file where rows end. A line end within quotes is none: as long as nothing is wrong with the text, an
// odd number of quotes is before it. Where something is wrong, the piece with the fault begins right.
class PieceReader {
 public:
  PieceReader(const std::filesystem::path& path, size_t bytes) : file_(path), bytes_(bytes) {}

  // Returns false at the end of the file.
  bool next(Piece& piece) {
    std::string& text = piece.text;
    text.swap(rest_);
    rest_.clear();
    piece.is_whole = true;
    bool quoted = false;
    for (size_t seen = 0;;) {
      const bool at_end = file_.read(text, bytes_) == 0;
      if (at_end && text.ends_with(kEndOfFile)) text.pop_back();
      if (at_end) return !text.empty();
      const auto added = text.begin() + static_cast<std::ptrdiff_t>(seen);
      quoted ^= std::count(added, text.end(), '"') % 2 == 1;
      if (const size_t end = end_of_rows(text, seen, quoted)) {
        rest_.assign(text, end);
        text.resize(end);
        return true;
      }
      seen = text.size();
      if (seen <= kMaxCsvRowBytes) continue;
      piece.is_whole = false;
      return true;
    }
  }

 private:
  // After the last line end of a row that is not among the first `seen` bytes; 0: there is none. `quoted`:
  // the text ends within quotes.
  static size_t end_of_rows(const std::string& text, size_t seen, bool quoted) {
    for (size_t at = text.size(); at > seen; --at) {
      const char byte = text[at - 1];
      if (byte == '"') quoted = !quoted;
      if (!quoted && (byte == '\n' || byte == '\r')) return at;
    }
    return 0;
  }

  UnpackedFile file_;
  const size_t bytes_;
  std::string rest_;  // of what was read, after the last piece
};

// Pieces are read one after another, split by several threads at once, numbered in their order as soon as
// those before them are split, worked on at once, and finished in their order.
class CsvReading {
 public:
  CsvReading(const std::filesystem::path& path, const OnCsvRows& on_rows, const CsvPieces& pieces)
      : path_(path), on_rows_(on_rows), reader_(path, pieces.bytes) {}

  // The header, and the rows of its piece. Returns the separator.
  char begin(const std::function<void(const CsvRow& header)>& on_header, const CsvSeparator& wanted) {
    Piece piece;
    CsvRows& rows = piece.rows;
    for (bool first = true; rows.size() == 0; first = false) {
      if (!reader_.next(piece)) refuse_file(path_, "is empty; the first line names the columns");
      if (first && std::ranges::any_of(kWorkbooks, [&](auto mark) { return piece.text.starts_with(mark); }))
        refuse_file(
            path_,
            "is a workbook, as of Excel, or an archive, and no text; save the sheet as CSV (in Excel: "
            "File, Save As, CSV UTF-8)");
      if (first && piece.text.starts_with(kByteOrderMark)) piece.text.erase(0, kByteOrderMark.size());
      separator_ = separator_of(piece.text, wanted);
      split(piece);
      if (rows.size() == 0 && !rows.fault.empty()) refuse_row(0, rows.fault);
    }
    columns_ = rows.columns;
    const auto header_end = rows.cells.begin() + static_cast<std::ptrdiff_t>(columns_);
    on_header(CsvRow(rows.cells.begin(), header_end));
    rows.cells.erase(rows.cells.begin(), header_end);
    finish(piece);
    return separator_;
  }

  // By several threads.
  void work() {
    Piece piece;
    try {
      while (take(piece)) {
        piece.rows.columns = columns_;
        split(piece);
        if (!finish(piece)) return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (piece.number > failed_) return;
      failed_ = piece.number;
      failure_ = std::current_exception();
      moved_.notify_all();
    }
  }

  void end() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  [[noreturn]] void refuse_row(int64_t number, const std::string& fault) const {
    refuse_file(path_, (number == 0 ? "header" : fmt::format("row {}", number)) + fault);
  }

  bool take(Piece& piece) {
    const std::lock_guard reading(reading_);
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return false;
    }
    piece.number = ++taken_;
    return reader_.next(piece);
  }

  void split(Piece& piece) const {
    split_rows(piece.text, separator_, piece.rows);
    if (piece.is_whole || !piece.rows.fault.empty()) return;
    piece.rows.cells.clear();  // a piece that is not whole is the start of one row
    piece.rows.fault = fmt::format(" has more than {}; is a quote missing?", human_bytes(kMaxCsvRowBytes));
  }

  // Returns false if a piece before this one has failed.
  bool finish(Piece& piece) {
    CsvRows& rows = piece.rows;
    if (!await_turn(split_, piece)) return false;
    rows.first = next_row_;
    next_row_ += rows.size();
    pass_turn(split_);
    const std::function<void()> add = on_rows_(rows);
    if (!rows.fault.empty()) refuse_row(rows.first + rows.size(), rows.fault);
    if (!await_turn(finished_, piece)) return false;
    add();
    pass_turn(finished_);
    return true;
  }
  // `next` is the number of the piece whose turn it is.
  bool await_turn(const int64_t& next, const Piece& piece) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next == piece.number || failed_ < piece.number; });
    return next == piece.number;
  }
  void pass_turn(int64_t& next) {
    const std::lock_guard lock(mutex_);
    ++next;
    moved_.notify_all();
  }

  const std::filesystem::path& path_;
  const OnCsvRows& on_rows_;
  char separator_ = ',';
  size_t columns_ = 0;

  std::mutex reading_;  // guards the next two
  PieceReader reader_;
  int64_t taken_ = 0;

  std::mutex mutex_;  // guards the following, but next_row_: that is for the piece whose turn it is
  std::condition_variable moved_;
  int64_t split_ = 0;  // pieces
  int64_t next_row_ = 1;
  int64_t finished_ = 0;                                  // pieces
  int64_t failed_ = std::numeric_limits<int64_t>::max();  // the first piece that did
  std::exception_ptr failure_;
};

}  // namespace

char read_csv(const std::filesystem::path& path, const std::function<void(const CsvRow& header)>& on_header,
              const OnCsvRows& on_rows, const CsvSeparator& separator, const CsvPieces& pieces) {
  CsvReading reading(path, on_rows, pieces);
  const char separates = reading.begin(on_header, separator);
  for_each_in_threads(pieces.threads, pieces.threads, [&](int64_t) { reading.work(); });
  reading.end();
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
