// Parses the cells of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// Empty, NA, N/A, NaN (with a sign, too) or null, in any case; or one of `others`, as it is written there.
bool is_missing_cell(std::string_view cell, const std::vector<std::string>& others = {});

// How numbers are written: 1234.5, 1,234.5, 1.234,5, 1 234,5, 1'234.5.
struct NumberStyle {
  char decimal = '.';  // or ','
  // The thousands separator: the one of . and , that is not the decimal sign; ' ' for any space, also one
  // that does not break a line; '\'', also for the typographic one; 0: nothing.
  char thousands = 0;
  bool operator==(const NumberStyle&) const = default;
};

// A set of styles: bits of bit_of().
using NumberStyles = uint8_t;
inline constexpr NumberStyles kEveryStyle = 0xFF;
inline constexpr NumberStyles kPointStyles = 0x0F, kCommaStyles = 0xF0;  // by the decimal sign
NumberStyles bit_of(NumberStyle style);

// The styles in which the cell is a number; none: it is a word. A whole number is one in every style. Groups
// have three digits, but for the first one, which has one to three and does not begin with 0.
NumberStyles styles_of(std::string_view cell);

// The number that a cell is: infinite beyond the numbers of double, and 0 where it is too small for them.
// nullopt: it is none.
std::optional<double> number_in_cell(std::string_view cell, NumberStyle style = {});

// Whether a cell is a number, in any style, with one sign of percent or of a currency: 5%, 12,50 €, $3.
bool is_amount(std::string_view cell);

// The days from 1970-01-01 to a date, negative before it; a time is a part of a day. Dates are 2024-02-29 or
// 29.2.2024 (the day first, four digits for the year), perhaps with a time after a space or T: 13:45,
// 13:45:10 or 13:45:10.25, and after that Z or a difference to UTC such as +01:00, which is subtracted.
// nullopt: it is no date, or none of the calendar.
std::optional<double> days_in_cell(std::string_view cell);

// The sign that a spec names so ("point", "tab"); 0 for "none", nullopt for other words (auto). And its name.
std::optional<char> sign_of(const std::string& word);
const char* word_for(char sign);

// "a decimal comma and thousands points"
std::string style_text(NumberStyle style);

}  // namespace dtrain
