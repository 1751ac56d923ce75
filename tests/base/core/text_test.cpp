#include "core/text.h"

#include <cmath>
#include <limits>

#include "catch.h"

namespace dtrain {
namespace {

const std::vector<std::string> kKnown = {"mirrored", "one_device", "adam", "sgd", "epochs"};

TEST_CASE("slips of the keys are recognised") {
  CHECK(closest_word("mirored", kKnown) == "mirrored");    // left out
  CHECK(closest_word("mirrrored", kKnown) == "mirrored");  // twice
  CHECK(closest_word("mirrpred", kKnown) == "mirrored");   // the key beside it
  CHECK(closest_word("imrrored", kKnown) == "mirrored");   // swapped: one slip, not two
  CHECK(closest_word("dam", kKnown) == "adam");            // three letters: one slip
  CHECK(closest_word("adma", {"adam"}) == "adam");         // a swap in four letters
  CHECK(closest_word("one-device", kKnown) == "one_device");
  CHECK(closest_word("epochs", kKnown) == "epochs");
}

TEST_CASE("upper and lower case are the same") {
  CHECK(closest_word("SGD", kKnown) == "sgd");
  CHECK(closest_word("Mirrored", kKnown) == "mirrored");
  CHECK(closest_word("mlp", {"MLP"}) == "MLP");
}

TEST_CASE("other words are not taken for slips") {
  CHECK_FALSE(closest_word("quantum", kKnown));
  CHECK_FALSE(closest_word("", kKnown));
  CHECK_FALSE(closest_word("dma", {"adam"}));  // two slips in three letters
  CHECK_FALSE(closest_word("mirrored", {}));
  CHECK_FALSE(closest_word(std::string(1'000'000, 'm'), {std::string(1'000'000, 'm')}));  // quadratic
}

TEST_CASE("of two close words the closer wins, of equals the first") {
  CHECK(closest_word("epochs", {"epoch", "epochs"}) == "epochs");
  CHECK(closest_word("cat", {"car", "cap"}) == "car");
}

TEST_CASE("did_you_mean is ready to be appended") {
  CHECK(did_you_mean("adm", kKnown) == "; did you mean 'adam'?");
  CHECK(did_you_mean("quantum", kKnown).empty());
}

TEST_CASE("join") {
  CHECK(join({}).empty());
  CHECK(join({"a"}) == "a");
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b"}, " ") == "a b");
}

TEST_CASE("names between @ get their values, once, and everything else stays") {
  const std::map<std::string, std::string> values = {{"NAME", "gated"}, {"AGAIN", "@NAME@"}, {"NONE", ""}};
  CHECK(filled("@NAME@.cpp: @NAME@", values) == "gated.cpp: gated");
  CHECK(filled("@AGAIN@", values) == "@NAME@");
  CHECK(filled("@media print @NAME@ @ a@b @NONE@@NAME", values) == "@media print gated @ a@b @NAME");
  CHECK(filled("", values).empty());
}

TEST_CASE("thousands are set apart") {
  CHECK(with_separators(0) == "0");
  CHECK(with_separators(999) == "999");
  CHECK(with_separators(1000) == "1,000");
  CHECK(with_separators(-1000) == "-1,000");
  CHECK(with_separators(-999) == "-999");
  CHECK(with_separators(1234567) == "1,234,567");
  CHECK(with_separators(std::numeric_limits<int64_t>::max()) == "9,223,372,036,854,775,807");
  CHECK(with_separators(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808");
}

TEST_CASE("bytes are in the unit that fits") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes((1 << 20) - 1) == "1.0 MiB");  // not 1024.0 KiB
  CHECK(human_bytes(1 << 20) == "1.0 MiB");
  CHECK(human_bytes(int64_t{3} << 30) == "3.0 GiB");
  CHECK(human_bytes(int64_t{5} << 40) == "5.0 TiB");
  CHECK(human_bytes(int64_t{7} << 50) == "7.0 PiB");
  CHECK(human_bytes(std::numeric_limits<int64_t>::max()) == "8.0 EiB");
}

TEST_CASE("durations are in the units that fit") {
  CHECK(human_duration(0) == "0.0 s");
  CHECK(human_duration(0.42) == "0.4 s");
  CHECK(human_duration(59.94) == "59.9 s");
  CHECK(human_duration(59.96) == "1 min 00 s");  // not 60.0 s
  CHECK(human_duration(75) == "1 min 15 s");
  CHECK(human_duration(3599.4) == "59 min 59 s");
  CHECK(human_duration(3599.6) == "1 h 00 min");
  CHECK(human_duration(7300) == "2 h 01 min");
  CHECK(human_duration(1e6) == "277 h 46 min");
}

TEST_CASE("what is no duration has none") {
  CHECK(human_duration(-1) == "?");
  CHECK(human_duration(std::nan("")) == "?");
  CHECK(human_duration(INFINITY) == "?");
  CHECK(human_duration(1e300) == "?");
}

TEST_CASE("control characters cannot reach a terminal") {
  CHECK(printable("plain text") == "plain text");
  CHECK(printable("\x1b[31mred") == "\\x1b[31mred");
  CHECK(printable("a\nb\tc\rd\x7f") == "a\\x0ab\\x09c\\x0dd\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\xc2\\x9b31m");  // CSI as one character, U+009B
  CHECK(printable("\xC2\x80\xC2\x9F") == "\\xc2\\x80\\xc2\\x9f");
  CHECK(printable("\xC2\xA0") == "\xC2\xA0");  // the first character after them
}

TEST_CASE("nor what turns the direction of text, or ends lines") {
  CHECK(printable("a\u202Eb") == "a\\xe2\\x80\\xaeb");
  for (const char* each :
       {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"})
    CHECK(printable(each).substr(0, 2) == "\\x");
  for (const char* each : {"\u061b", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a", "\u00e4"})
    CHECK(printable(each) == each);
}

TEST_CASE("JSON keeps its values, and shows no such character") {
  CHECK(printable_json("{\n  \"a\u202e\": \"\u009bb\x7f\u00e4\"\n}") ==
        "{\n  \"a\\u202e\": \"\\u009bb\\u007f\u00e4\"\n}");
  CHECK(printable_json("[\"\u061c\u2066\"]") == "[\"\\u061c\\u2066\"]");
}

TEST_CASE("a shell's word is quoted where it has to be, and escaped where a terminal would obey it") {
  CHECK(shell_word("runs/a-1") == "runs/a-1");
  CHECK(shell_word("it's a b") == "'it'\\''s a b'");
  CHECK(shell_word("gr\u00fcn") == "'gr\u00fcn'");
  CHECK(shell_word("r\x1b[31m'\\") == "$'r\\x1b[31m\\'\\\\'");
  CHECK(shell_word("a\u202e") == "$'a\\xe2\\x80\\xae'");
}

TEST_CASE("text in any language stays") {
  const std::string text = "größe, 训练, \U0001F600, ελληνικά";
  CHECK(printable(text) == text);
}

TEST_CASE("what is not UTF-8 is shown byte by byte") {
  CHECK(printable("\x80") == "\\x80");
  CHECK(printable("\x9B"
                  "31m") == "\\x9b31m");  // CSI of 8-bit terminals
  CHECK(printable("a\xE4"
                  "b") == "a\\xe4b");            // Latin-1
  CHECK(printable("\xC3") == "\\xc3");           // cut off
  CHECK(printable("\xE8\xAE") == "\\xe8\\xae");  // cut off
  CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");  // overlong '/'
  CHECK(printable("\xE0\x80\x9B") == "\\xe0\\x80\\x9b");
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xFF\xFE") == "\\xff\\xfe");
}

TEST_CASE("text is cut at the limit, never within a character") {
  CHECK(printable("abc", 3) == "abc");
  CHECK(printable("abcd", 3) == "abc...");
  CHECK(printable("", 0).empty());
  CHECK(printable("a", 0) == "...");
  CHECK(printable("aé", 3) == "aé");
  CHECK(printable("aéb", 2) == "a...");  // é is two bytes
  CHECK(printable("训练", 5) == "训...");
  CHECK(printable(std::string(1000, 'x')) == std::string(200, 'x') + "...");
}

TEST_CASE("lines are broken at spaces, never within a word") {
  CHECK(wrapped("one two three", 9) == "one two\nthree");
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one two three", 13) == "one two three");
  CHECK(wrapped("one two three", 9, 2) == "one two\n  three");
  CHECK(wrapped("  one two", 7, 2) == "  one\n  two");
  CHECK(wrapped("a far-too-long-word b", 6, 1) == "a\n far-too-long-word\n b");
  CHECK(wrapped("far-too-long-word b", 6) == "far-too-long-word\nb");
  CHECK(wrapped("one\ntwo three\n", 5, 1) == "one\ntwo\n three\n");
  CHECK(wrapped("é é é", 5) == "é é é");  // columns, not bytes
  CHECK(wrapped("one two", 0) == "one two");
  CHECK(wrapped("", 5).empty());
}

}  // namespace
}  // namespace dtrain
