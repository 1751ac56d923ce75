// Parses YAML text into a small tree with positions, within limits that also hold for hostile text. Only
// yaml_tree.cpp uses yaml-cpp.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace dtrain {

constexpr size_t kMaxYamlBytes = 1 << 20;
constexpr size_t kMaxYamlNodes = 20'000;  // a thousand layers with all their fields are 15,000
constexpr size_t kMaxYamlDepth = 32;

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 0;  // 1-based; 0: from an override, not from the file
  int column = 0;
  std::string text;                // scalar
  bool plain = false;              // scalar: neither quoted nor tagged as text
  std::string complaint;           // if set: a feature of YAML that specs do not have; ignore the rest
  std::vector<YamlNode> items;     // list
  std::vector<YamlEntry> entries;  // map, in the order written, including duplicates
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// The text is not YAML, or exceeds a limit.
struct YamlError : std::runtime_error {
  YamlError(int line, int column, const std::string& text)
      : std::runtime_error(text), line(line), column(column) {}
  int line;
  int column;
};

// The error for `text`, which the parser refused at `line` and `column` (1-based) with `message`: at the line
// that is probably at fault, with its text and how to repair it (syntax_help.cpp).
YamlError explain_syntax(const std::string& text, int line, int column, const std::string& message);

// Parses the single document in `text`; returns a null node if there is none. Throws YamlError. Memory use
// stays within some tens of MB.
YamlNode parse_yaml(const std::string& text);

// Whether `text` is UTF-8 without overlong forms, surrogates, or control characters other than tab and line
// ends. If not, sets `at` to the offset of the first fault.
bool is_clean_text(const std::string& text, size_t& at);

}  // namespace dtrain
