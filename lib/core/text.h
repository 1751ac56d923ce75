// Words for people: spelling suggestions and numbers with units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// The known word closest to `word` when it is near enough to be a slip of the keys (Damerau-Levenshtein
// distance of at most a third of its length, and at least 1; upper and lower case are the same).
std::optional<std::string> closest_word(const std::string& word, const std::vector<std::string>& known);

// " did you mean 'x'?" after a semicolon, or nothing when no known word is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// "a, b, c"
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

// Thousands apart: 1234567 -> "1,234,567".
std::string with_separators(int64_t number);

// Bytes in the unit that fits: 1536 -> "1.5 KiB".
std::string human_bytes(int64_t bytes);

// A duration: 0.42 -> "0.4 s", 75 -> "1 min 15 s", 7300 -> "2 h 01 min"; "?" when it is none.
std::string human_duration(double seconds);

// Text as it can be shown on a terminal: control characters (C0, DEL and C1) and what is not UTF-8 become
// \xNN, and it is cut after at most `limit` bytes, never within a character.
std::string printable(const std::string& text, size_t limit = 200);

}  // namespace dtrain
