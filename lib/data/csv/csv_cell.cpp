#include "csv/csv_cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace dtrain {
namespace {

constexpr size_t kMostSigns = 32;  // in a number: ample
constexpr double kSecondsOfDay = 86'400;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// A sign that may be within a number, as NumberStyle has it (0: none is there), and its length in bytes.
struct Sign {
  char sign = 0;
  size_t bytes = 0;
};

Sign sign_at(std::string_view text, size_t at) {
  const char byte = text[at];
  if (byte == '.' || byte == ',' || byte == ' ' || byte == '\'') return {byte, 1};
  if (static_cast<unsigned char>(byte) < 0x80) return {};
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("\xC2\xA0")) return {' ', 2};                                          // U+00A0
  if (rest.starts_with("\xE2\x80\xAF") || rest.starts_with("\xE2\x80\x89")) return {' ', 3};  // narrow ones
  if (rest.starts_with("\xE2\x80\x99")) return {'\'', 3};
  return {};
}

// Signs as specs name them.
constexpr std::pair<const char*, char> kSigns[] = {{"none", 0},    {"point", '.'},       {"comma", ','},
                                                   {"space", ' '}, {"apostrophe", '\''}, {"semicolon", ';'},
                                                   {"tab", '\t'},  {"bar", '|'}};

NumberStyle style_with(char decimal, char thousands) {
  return {.decimal = decimal, .thousands = thousands == decimal ? '\0' : thousands};
}

// The length of "e-3" at the end of a number; 0: there is none.
size_t exponent_at(std::string_view text, size_t at) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return 0;
  const size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
  const size_t digits = digits_at(text, at + 1 + sign);
  return digits > 0 ? 1 + sign + digits : 0;
}

std::optional<double> plain_number(std::string_view cell) {
  const char* begin = cell.data() + (cell.size() > 1 && cell[0] == '+' && cell[1] != '-' ? 1 : 0);
  const char* const end = cell.data() + cell.size();
  double number = 0;
  const auto [at, fault] = std::from_chars(begin, end, number);
  if (at != end || fault == std::errc::invalid_argument) return std::nullopt;
  // Too large or too small for double.
  return fault == std::errc() ? number : std::strtod(std::string(begin, end).c_str(), nullptr);
}

// Reads parts of a text from its beginning on.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char byte) {
    if (rest_.empty() || rest_.front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The next `least` to `most` digits, as many as there are; -1: there are fewer.
  int take_digits(size_t least, size_t most) {
    const size_t count = std::min(digits_at(rest_, 0), most);
    if (count < least) return -1;
    int number = 0;
    std::from_chars(rest_.data(), rest_.data() + count, number);
    rest_.remove_prefix(count);
    return number;
  }
  double take_fraction() {
    double fraction = 0;
    for (double place = 0.1; !rest_.empty() && is_digit(rest_.front()); place /= 10, rest_.remove_prefix(1))
      fraction += place * (rest_.front() - '0');
    return fraction;
  }

 private:
  std::string_view rest_;
};

std::optional<double> date_at(Reader& reader) {
  int year = reader.take_digits(1, 4), month = -1, day = -1;
  if (year >= 1000 && reader.take('-')) {
    month = reader.take_digits(2, 2);
    if (reader.take('-')) day = reader.take_digits(2, 2);
  } else if (year < 32 && reader.take('.')) {
    day = std::exchange(year, -1);
    month = reader.take_digits(1, 2);
    if (reader.take('.')) year = reader.take_digits(4, 4);
  }
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

// The seconds of a time of day and of what follows it.
std::optional<double> seconds_at(Reader& reader) {
  const int hours = reader.take_digits(1, 2);
  const int minutes = reader.take(':') ? reader.take_digits(2, 2) : -1;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  double seconds = hours * 3600.0 + minutes * 60.0;
  if (reader.take(':')) {
    const int whole = reader.take_digits(2, 2);
    if (whole < 0 || whole > 59) return std::nullopt;
    seconds += whole;
    if (reader.take('.')) seconds += reader.take_fraction();
  }
  if (reader.take('Z')) return seconds;
  const double direction = reader.take('+') ? -1 : reader.take('-') ? 1 : 0;
  if (direction == 0) return seconds;
  const int zone_hours = reader.take_digits(2, 2);
  const int zone_minutes = reader.take(':') || !reader.at_end() ? reader.take_digits(2, 2) : 0;
  if (zone_hours < 0 || zone_hours > 23 || zone_minutes < 0 || zone_minutes > 59) return std::nullopt;
  return seconds + direction * (zone_hours * 3600.0 + zone_minutes * 60.0);
}

}  // namespace

bool is_missing_cell(std::string_view cell, const std::vector<std::string>& others) {
  if (cell.empty()) return true;
  if (std::ranges::find(others, cell) != others.end()) return true;
  const char first = cell[cell.size() > 1 && (cell[0] == '-' || cell[0] == '+') ? 1 : 0];
  if (first != 'n' && first != 'N') return false;
  if (plain_number(cell)) return true;  // nan, -nan, nan(ind): no other number begins so
  if (cell.size() > 4) return false;
  std::string lower(cell);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char byte) {
    return static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
  });
  return lower == "na" || lower == "n/a" || lower == "null";
}

NumberStyles bit_of(NumberStyle style) {
  const int thousands = style.thousands == 0      ? 0
                        : style.thousands == ' '  ? 2
                        : style.thousands == '\'' ? 3
                                                  : 1;
  return static_cast<NumberStyles>(1 << ((style.decimal == ',' ? 4 : 0) + thousands));
}

NumberStyles styles_of(std::string_view cell) {
  const size_t begin = !cell.empty() && (cell[0] == '+' || cell[0] == '-') ? 1 : 0;
  const size_t first = digits_at(cell, begin);
  // Most numbers are only digits, or have a decimal point that cannot be between thousands.
  const size_t point = begin + first;
  if (first > 0 && point == cell.size()) return kEveryStyle;
  if (first > 0 && cell[point] == '.') {
    const size_t fraction = digits_at(cell, point + 1);
    if (fraction != 3 && point + 1 + fraction == cell.size()) return kPointStyles;
  }
  std::array<Sign, kMostSigns> signs;
  std::array<size_t, kMostSigns> digits{};  // after each sign
  size_t count = 0, at = begin + first;
  while (at < cell.size() && count < kMostSigns) {
    signs[count] = sign_at(cell, at);
    if (signs[count].sign == 0) break;
    digits[count] = digits_at(cell, at + signs[count].bytes);
    at += signs[count].bytes + digits[count];
    ++count;
  }
  const size_t exponent = exponent_at(cell, at);
  const bool any_digits = first > 0 || (count > 0 && digits[0] > 0);
  // Such as infinity, which is refused later as a number.
  if (at + exponent != cell.size() || !any_digits) return plain_number(cell) ? kEveryStyle : 0;
  if (count == 0) return kEveryStyle;

  // Whether the first signs are between groups of three digits.
  const auto are_groups = [&](size_t some) {
    if (some == 0) return true;
    if (first < 1 || first > 3 || cell[begin] == '0') return false;
    for (size_t i = 0; i < some; ++i) {
      if (signs[i].sign != signs[0].sign || digits[i] != 3) return false;
    }
    return true;
  };
  const char group = signs[0].sign, last = signs[count - 1].sign;
  NumberStyles styles = 0;
  if ((last == '.' || last == ',') && (count == 1 || group != last) && are_groups(count - 1))
    styles = count == 1 ? (last == '.' ? kPointStyles : kCommaStyles) : bit_of(style_with(last, group));
  if (exponent == 0 && are_groups(count)) {
    for (const char decimal : {'.', ','}) {
      if (group != decimal) styles |= bit_of(style_with(decimal, group));
    }
  }
  return styles;
}

std::optional<double> number_in_cell(std::string_view cell, NumberStyle style) {
  if (style == NumberStyle()) return plain_number(cell);
  if ((styles_of(cell) & bit_of(style)) == 0) return std::nullopt;
  std::string plain;
  for (size_t at = 0; at < cell.size();) {
    const Sign sign = sign_at(cell, at);
    if (sign.sign == 0) {
      plain += cell[at++];
      continue;
    }
    if (sign.sign == style.decimal) plain += '.';
    at += sign.bytes;
  }
  return plain_number(plain);
}

bool is_amount(std::string_view cell) {
  for (const std::string_view sign : {"%", "\u2030", "\u20ac", "$", "\u00a3", "\u00a5", "EUR", "USD"}) {
    std::string_view number = cell;
    if (number.starts_with(sign)) {
      number.remove_prefix(sign.size());
    } else if (number.ends_with(sign)) {
      number.remove_suffix(sign.size());
    } else {
      continue;
    }
    while (number.starts_with(' ')) number.remove_prefix(1);
    while (number.ends_with(' ')) number.remove_suffix(1);
    if (number.ends_with("\u00a0")) number.remove_suffix(2);
    return styles_of(number) != 0;
  }
  return false;
}

std::optional<double> days_in_cell(std::string_view cell) {
  Reader reader(cell);
  const std::optional<double> days = date_at(reader);
  if (!days || reader.at_end()) return days;
  if (!reader.take('T') && !reader.take(' ')) return std::nullopt;
  const std::optional<double> seconds = seconds_at(reader);
  if (!seconds || !reader.at_end()) return std::nullopt;
  return *days + *seconds / kSecondsOfDay;
}

std::optional<char> sign_of(const std::string& word) {
  for (const auto& [known, sign] : kSigns) {
    if (word == known) return sign;
  }
  return std::nullopt;
}

const char* word_for(char sign) {
  return std::find_if(std::begin(kSigns), std::end(kSigns),
                      [&](const auto& any) { return any.second == sign; })
      ->first;
}

std::string style_text(NumberStyle style) {
  std::string text = style.decimal == ',' ? "a decimal comma" : "a decimal point";
  if (style.thousands == '.') text += " and thousands points";
  if (style.thousands == ',') text += " and thousands commas";
  if (style.thousands == ' ') text += " and spaces between thousands";
  if (style.thousands == '\'') text += " and apostrophes between thousands";
  return text;
}

}  // namespace dtrain
