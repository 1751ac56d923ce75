#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

namespace dtrain {
namespace {

// Optimal string alignment distance: an insertion, deletion, substitution or swap of neighbours costs 1.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// Whether a terminal or a page would obey the character instead of showing it: C0 (U+0000 to U+001F), DEL, C1
// (U+0080 to U+009F), line and paragraph separators (U+2028, U+2029), and what turns the direction of text
// (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
bool is_control(const std::string& character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7F) return true;
  if (character.size() == 2)
    return (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) || character == "\u061c";
  if (character.size() != 3 || first != 0xE2) return false;
  return character == "\u200e" || character == "\u200f" || (character >= "\u2028" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069");
}

// $'\x1b[2J': the same bytes, without any that a terminal would obey.
std::string escaped(const std::string& text) {
  std::string quoted = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F)
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

size_t character_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  const unsigned lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < lowest || byte(1) > highest) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

std::optional<std::string> closest_word(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() > 64) return std::nullopt;  // too long for a typing error, and the distance is quadratic
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(in_lower_case(word), in_lower_case(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const auto closest = closest_word(word, known);
  return closest ? "; did you mean '" + *closest + "'?" : "";
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts = {""};
  for (const char c : text) c == separator ? void(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

std::string filled(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string all;
  size_t at = 0;
  for (size_t begin; (begin = text.find('@', at)) != std::string::npos;) {
    const size_t end = text.find('@', begin + 1);
    const auto value =
        end == std::string::npos ? values.end() : values.find(text.substr(begin + 1, end - begin - 1));
    all += text.substr(at, begin - at) + (value == values.end() ? "@" : value->second);
    at = value == values.end() ? begin + 1 : end + 1;
  }
  return all + text.substr(at);
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::string with_separators(int64_t number) {
  // Unsigned, because the lowest int64_t has no positive counterpart.
  const auto magnitude = static_cast<uint64_t>(number);
  std::string digits = std::to_string(number < 0 ? 0 - magnitude : magnitude);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return number < 0 ? "-" + digits : digits;
}

std::string counted(int64_t number, const std::string& noun) {
  return with_separators(number) + " " + noun + (number == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string human_bytes(int64_t bytes) {
  static const std::vector<std::string> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95; value /= 1024) ++unit;  // anything above would be shown as 1024.0
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_duration(double seconds) {
  constexpr double kLongest = 1e15;
  if (!(seconds >= 0) || seconds > kLongest) return "?";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string printable(const std::string& text, size_t limit) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    const std::string character = text.substr(at, std::max<size_t>(length, 1));
    at += character.size();
    if (at > limit) return shown + "...";
    if (length > 0 && !is_control(character)) {
      shown += character;
    } else {
      for (const char c : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return shown;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::string printable_lines(const std::string& text, size_t limit) {
  std::string shown;
  for (const std::string& line : split_lines(text)) shown += printable(line, limit) + "\n";
  return shown;
}

std::string printable_json(const std::string& json) {
  std::string shown;
  for (size_t at = 0; at < json.size();) {
    const std::string character = json.substr(at, std::max<size_t>(character_length(json, at), 1));
    at += character.size();
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
    if (!is_control(character) || byte(0) < 0x20)
      shown += character;  // line breaks and indents stand between values
    else if (character.size() == 3)
      shown += fmt::format("\\u{:04x}", (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU));
    else if (character.size() == 2)
      shown += fmt::format("\\u{:04x}", (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU));
    else
      shown += fmt::format("\\u{:04x}", byte(0));
  }
  return shown;
}

std::string wrapped(const std::string& text, int width, int indent) {
  if (width <= 0) return text;
  const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  std::string lines, line;
  std::ptrdiff_t columns = 0;  // of `line`, with its indent
  for (size_t at = 0; at < text.size();) {
    // The next word with the spaces before it, or a line break.
    const size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(at, end - at);
    const std::ptrdiff_t wide = std::ranges::count_if(word, is_first_byte);
    if (columns + wide > width && begin > at && line.find_first_not_of(' ') < line.size()) {
      lines += line + "\n";
      line = std::string(static_cast<size_t>(indent), ' ');
      columns = indent + wide - static_cast<std::ptrdiff_t>(begin - at);
      line += text.substr(begin, end - begin);
    } else {
      line += word;
      columns += wide;
    }
    at = end;
    if (at < text.size() && text[at] == '\n') {
      lines += line + "\n";
      line.clear();
      columns = 0;
      ++at;
    }
  }
  return lines + line;
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string("/._-+,:@%=").find(static_cast<char>(c)) != std::string::npos;
  });
  if (plain) return text;
  if (printable(text, text.size()) != text) return escaped(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace dtrain
