#include "yaml/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text.h"

namespace dtrain {
namespace {

using nlohmann::ordered_json;

// Whether every YAML reader takes the bare word for text. Not so for words like 'no' and 'null', or for
// anything with punctuation.
bool is_plain_word(const std::string& text) {
  static const std::vector<std::string> kSpecial = {"true", "false", "yes", "no",   "on", "off",
                                                    "y",    "n",     "inf", "null", "nan"};
  if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/')) return false;
  const bool safe = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/');
  });
  return safe && std::ranges::find(kSpecial, in_lower_case(text)) == kSpecial.end();
}

// A JSON string is a valid double-quoted YAML scalar. "${" is doubled, so that reading does not expand it.
std::string quoted(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "${") == 0) escaped += '$';
    escaped += text[at];
  }
  return printable_json(ordered_json(escaped).dump());
}

}  // namespace

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return std::to_string(static_cast<int64_t>(value));
  std::string text = fmt::format("{}", value);
  const size_t exponent = text.find('e');
  // YAML 1.1 takes 1e-08 for text, because a number needs a point there.
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

std::string yaml_text(const ordered_json& value) {
  if (value.is_number_float()) return number_text(value.get<double>());
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return is_plain_word(text) ? text : quoted(text);
  }
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, item] : value.items()) {
    // Variables are not replaced in keys.
    const std::string shown = is_plain_word(key) ? key : printable_json(ordered_json(key).dump());
    parts.push_back(value.is_object() ? shown + ": " + yaml_text(item) : yaml_text(item));
  }
  return value.is_object() ? "{" + join(parts) + "}" : "[" + join(parts) + "]";
}

}  // namespace dtrain
