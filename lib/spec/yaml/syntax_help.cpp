// Says what is probably wrong with text that is not YAML. The parser only says where it gave up.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/patterns.h"
#include "core/text.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

constexpr size_t kMostLineBytes = 1000;  // of a line that regular expressions look at

// A probable fault and where it is. Lines and columns are counted from 1.
struct Fault {
  int line;
  int column;
  std::string text;
};

size_t indentation(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_blank(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos || line[first] == '#';
}

// Where quotes and brackets open and close. It knows neither block scalars nor tags, so that what it finds is
// a hint for text that the parser has refused, and no verdict.
class Delimiters {
 public:
  explicit Delimiters(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      ++line_;
      before_ = ' ';
      for (size_t i = 0; i < line.size(); ++i) {
        if (quote_ != 0) {
          read_quoted(line, i);
        } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ')) {
          break;
        } else {
          read_plain(line[i], static_cast<int>(i) + 1);
        }
      }
    }
  }

  // The first fault, as far as the parser came: up to `last_line`.
  std::optional<Fault> fault(int last_line) const {
    if (long_quote_ && long_quote_->line <= last_line) return long_quote_;
    if (quote_ != 0) return Fault{opened_.line, opened_.column, opened_.text};
    if (mismatch_) return mismatch_;
    if (open_.empty()) return std::nullopt;
    return Fault{open_.back().line, open_.back().column,
                 fmt::format("the {} is not closed", open_.back().text)};
  }

 private:
  void read_quoted(const std::string& line, size_t& i) {
    const bool escapes = quote_ == '"' && line[i] == '\\';
    const bool doubled = line[i] == quote_ && quote_ == '\'' && i + 1 < line.size() && line[i + 1] == '\'';
    if (escapes || doubled) {
      ++i;
    } else if (line[i] == quote_) {
      if (opened_.line != line_ && !long_quote_) long_quote_ = opened_;
      quote_ = 0;
      before_ = 'x';
    }
  }

  void read_plain(char c, int column) {
    const bool begins = std::string(" :,[{-?").find(before_) != std::string::npos;
    if ((c == '"' || c == '\'') && begins) {
      quote_ = c;
      opened_ = {line_, column, fmt::format("the quote {} is not closed in its line", c)};
    } else if ((c == '[' || c == '{') && (begins || !open_.empty())) {
      open_.push_back({line_, column, std::string(1, c)});
    } else if (c == ']' || c == '}') {
      close(c, column);
    }
    if (c != ' ') before_ = c;
  }

  void close(char c, int column) {
    const std::string opener = c == ']' ? "[" : "{";
    if (open_.empty()) {
      if (!mismatch_)
        mismatch_ = {line_, column, fmt::format("there is no {} that this {} closes", opener, c)};
      return;
    }
    if (open_.back().text != opener && !mismatch_)
      mismatch_ = {open_.back().line, open_.back().column,
                   fmt::format("the {} is not closed before the {} in line {}", open_.back().text, c, line_)};
    open_.pop_back();
  }

  int line_ = 0;
  char before_ = ' ';  // the last character that is not a space; a space at the start of a line
  char quote_ = 0;     // the kind of quote that is open
  Fault opened_{0, 0, ""};
  std::vector<Fault> open_;  // brackets; the text is the bracket
  std::optional<Fault> long_quote_;
  std::optional<Fault> mismatch_;
};

// A fault that a line shows by itself.
std::optional<Fault> fault_in(const std::string& line, int number) {
  static const Pattern kNoSpace(R"(^\s*(?:- +)?([A-Za-z_]\w*):([^\s:/\\].*)$)");
  static const Pattern kNoColon(R"(^\s*([A-Za-z_]\w*)(\s+[^\s:=]+)?\s*(#.*)?$)");
  static const Pattern kEquals(R"(^\s*(?:- +)?([A-Za-z_]\w*)\s*=.*$)");
  static const Pattern kTwoColons(R"(^\s*(?:- +)?\w+: +([^"'\[{#]*: .*)$)");
  static const Pattern kAfterQuote(R"(^\s*(?:- +)?\w+: +("[^"]*"|'[^']*') *[^#\s].*$)");
  if (line.size() > kMostLineBytes) return std::nullopt;
  std::optional<std::vector<FoundGroup>> found;
  const auto at_first_group = [&](const std::string& text) {
    return Fault{number, static_cast<int>((*found)[1].begin) + 1, text};
  };
  if ((found = kNoSpace.match(line)))
    return at_first_group(fmt::format("a space is missing after '{}:'", (*found)[1].text));
  if ((found = kEquals.match(line)))
    return at_first_group(fmt::format("write a colon and a space after '{}', not =", (*found)[1].text));
  if ((found = kNoColon.match(line)))
    return at_first_group(fmt::format("a colon is missing after '{}'", (*found)[1].text));
  if ((found = kTwoColons.match(line)))
    return at_first_group(
        "a value with a colon and a space in it needs quotes; a section starts on a line of its own");
  if ((found = kAfterQuote.match(line))) return at_first_group("there is more text after the closing quote");
  return std::nullopt;
}

// A line whose indentation does not fit the lines above it. `index` counts lines from 0.
std::optional<Fault> wrong_indentation(const std::vector<std::string>& lines, size_t index) {
  std::vector<size_t> levels;
  size_t above = index;
  for (size_t i = 0; i < index; ++i) {
    if (is_blank(lines[i])) continue;
    const size_t indented = indentation(lines[i]);
    while (!levels.empty() && levels.back() > indented) levels.pop_back();
    if (levels.empty() || levels.back() < indented) levels.push_back(indented);
    if (lines[i].compare(indented, 2, "- ") == 0) levels.push_back(indented + 2);
    above = i;
  }
  if (above == index) return std::nullopt;
  const size_t indented = indentation(lines[index]);
  const auto fault = [&](const std::string& text) {
    return Fault{static_cast<int>(index) + 1, static_cast<int>(indented) + 1, text};
  };
  if (std::find(levels.begin(), levels.end(), indented) != levels.end()) return std::nullopt;
  if (indented > levels.back())
    return lines[above].back() == ':'
               ? std::nullopt
               : std::optional(fault("the line is indented further than the one above it, "
                                     "which has a value already"));
  std::vector<std::string> fitting;
  for (const size_t level : levels) fitting.push_back(std::to_string(level));
  return fault(fmt::format("the line is indented by {}, and the open sections above it by {}",
                           counted(static_cast<int64_t>(indented), "space"), join(fitting, " or ")));
}

std::optional<Fault> find_fault(const std::vector<std::string>& lines, int number, int column,
                                const std::string& message) {
  const auto index = static_cast<size_t>(std::clamp<int>(number, 1, static_cast<int>(lines.size()))) - 1;
  const std::string& line = lines[index];
  const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(0, first).find('\t') != std::string::npos)
    return Fault{number, column, "indent with spaces, not tabs"};
  if (message.find("escape") != std::string::npos)
    return Fault{number, column,
                 "in double quotes a backslash begins an escape; write two of them, or use single quotes"};
  const auto at = static_cast<size_t>(column) - 1;
  if (at < line.size() && std::string("@`%").find(line[at]) != std::string::npos)
    return Fault{number, column, fmt::format("a text that begins with {} needs quotes", line[at])};
  if (const auto fault = Delimiters(lines).fault(number)) return fault;
  if (message.find("flow") != std::string::npos)
    return Fault{number, column, "a comma is missing between two entries in brackets"};
  size_t above = index;
  while (above > 0 && is_blank(lines[--above])) continue;
  for (const size_t each : {above, index}) {
    if (const auto fault = fault_in(lines[each], static_cast<int>(each) + 1)) return fault;
  }
  return wrong_indentation(lines, index);
}

}  // namespace

YamlError explain_syntax(const std::string& text, int line, int column, const std::string& message) {
  std::vector<std::string> lines = split_lines(text);
  for (std::string& each : lines) {
    if (each.ends_with('\r')) each.pop_back();
  }
  if (lines.empty()) return {line, column, "not valid YAML: " + message};
  const Fault fault = find_fault(lines, line, column, message).value_or(Fault{line, column, message});
  const auto index = static_cast<size_t>(fault.line) - 1;
  const std::string shown = index < lines.size() ? lines[index] : "";
  return {fault.line, fault.column,
          fmt::format("not valid YAML: {}{}", printable(fault.text),
                      is_blank(shown) ? "" : fmt::format("; the line is '{}'", printable(shown, 120)))};
}

}  // namespace dtrain
