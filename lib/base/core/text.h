// Text for users: spelling suggestions, numbers with units, words for a shell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// A row in a table of texts. The first row may have the headings of the columns.
using TableRow = std::vector<std::string>;
using TableRows = std::vector<TableRow>;

// The known word closest to `word`, if it is close enough to be a typing error: a Damerau-Levenshtein
// distance of at most a third of the length (and at least 1 is always allowed). Case is ignored.
std::optional<std::string> closest_word(const std::string& word, const std::vector<std::string>& known);

// "; did you mean 'x'?", or "" if no known word is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

// Whether the word is one of these.
bool contains(const std::vector<std::string>& words, const std::string& word);

// "a, b, c"
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

// The parts of the text between separators: "a,b," has three, the last one empty.
std::vector<std::string> split(const std::string& text, char separator);

// The length in bytes of the UTF-8 character at position `at`; 0 if there is none. Overlong forms, surrogates
// and code points above U+10FFFF are invalid (RFC 3629, section 4).
size_t character_length(const std::string& text, size_t at);

// The lines of the text without their ends.
std::vector<std::string> split_lines(const std::string& text);

// The text with each @NAME@ replaced by the value of that name. Values stay as they are.
std::string filled(const std::string& text, const std::map<std::string, std::string>& values);

// The whole text as a number of decimal digits, perhaps with a minus before them; nullopt: it is not one.
std::optional<int64_t> whole_number(const std::string& text);

// With thousands separators: 1234567 -> "1,234,567".
std::string with_separators(int64_t number);

// "1 step", "2,345 steps", "3 classes"
std::string counted(int64_t number, const std::string& noun);

// Bytes in a fitting unit: 1536 -> "1.5 KiB".
std::string human_bytes(int64_t bytes);

// A duration: 0.42 -> "0.4 s", 75 -> "1 min 15 s", 7300 -> "2 h 01 min"; "?" if it is not a valid duration.
std::string human_duration(double seconds);

// With ASCII's capital letters replaced by small ones.
std::string in_lower_case(std::string text);

// The text without blanks and line breaks at its ends.
std::string trimmed(const std::string& text);

// Text that is safe to print on a terminal: control characters (C0, DEL, C1, and those that turn the
// direction of text) and bytes that are not UTF-8 become \xNN. Cut to at most `limit` bytes of characters.
std::string printable(const std::string& text, size_t limit = 200);

// Each line of a text as printable() makes it, with a line break at its end, cut to at most `limit` bytes.
std::string printable_lines(const std::string& text, size_t limit = 8000);

// The JSON text with the same values that is safe to print: such characters become \uNNNN.
std::string printable_json(const std::string& json);

// The text in lines of at most `width` columns, broken at spaces; each line but the first begins with
// `indent` spaces. A word that is wider than a line has a line of its own. Line breaks of the text stay. The
// text is UTF-8 with characters of one column each. Width 0: nothing is broken.
std::string wrapped(const std::string& text, int width, int indent = 0);

// The text as one word for a POSIX shell, in quotes where it needs them; where it has characters that a
// terminal would obey (printable()), escaped in $'...', which bash, zsh and ksh read.
std::string shell_word(const std::string& text);

}  // namespace dtrain
