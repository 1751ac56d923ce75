#include "csv/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

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

}  // namespace

void split_rows(std::string& text, char separator, CsvRows& rows) {
  rows.cells.clear();
  rows.fault.clear();
  RowSplitter splitter(text, separator, rows);
  while (splitter.next()) {
  }
}

}  // namespace dtrain
