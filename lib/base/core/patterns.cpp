#include "core/patterns.h"

#include <regex>

namespace dtrain {
namespace {

std::optional<std::vector<FoundGroup>> groups_of(const std::smatch& found) {
  std::vector<FoundGroup> groups;
  for (size_t i = 0; i < found.size(); ++i)
    groups.push_back({found[i].str(), found[i].matched ? static_cast<size_t>(found.position(i)) : 0});
  return groups;
}

}  // namespace

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression)
    : compiled_(std::make_unique<Compiled>(Compiled{std::regex(expression)})) {}

Pattern::~Pattern() = default;

std::optional<std::vector<FoundGroup>> Pattern::match(const std::string& text) const {
  std::smatch found;
  return std::regex_match(text, found, compiled_->regex) ? groups_of(found) : std::nullopt;
}

std::optional<std::vector<FoundGroup>> Pattern::search(const std::string& text) const {
  std::smatch found;
  return std::regex_search(text, found, compiled_->regex) ? groups_of(found) : std::nullopt;
}

std::string Pattern::replace(const std::string& text, const std::string& replacement) const {
  return std::regex_replace(text, compiled_->regex, replacement);
}

}  // namespace dtrain
