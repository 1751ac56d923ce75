// Regular expressions (ECMAScript's), behind a header that is quick to compile: <regex> takes seconds a unit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// A group of a pattern as it was found; group 0 is all that was found. A group that took no part is empty.
struct FoundGroup {
  std::string text;
  size_t begin = 0;  // counted in bytes from the start of the text
};

class Pattern {
 public:
  // Throws std::regex_error if it is not valid.
  explicit Pattern(const std::string& expression);
  ~Pattern();

  // The groups if the whole text matches.
  std::optional<std::vector<FoundGroup>> match(const std::string& text) const;
  // The groups of the first place that matches.
  std::optional<std::vector<FoundGroup>> search(const std::string& text) const;
  // The text with each place that matches replaced; in the replacement $1 is the first group.
  std::string replace(const std::string& text, const std::string& replacement) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace dtrain
