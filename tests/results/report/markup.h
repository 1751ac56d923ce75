// Looks at SVG and HTML that is XML too.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace dtrain {

// Of what stands between '<' and '>': a name, and attributes with values in quotes.
inline bool has_sound_attributes(const std::string& inside) {
  const auto name_end = [&](size_t at) {
    while (at < inside.size() &&
           (std::isalnum(static_cast<unsigned char>(inside[at])) || inside[at] == '-' || inside[at] == ':'))
      ++at;
    return at;
  };
  const size_t begin = inside[0] == '/' ? 1 : 0;
  size_t at = name_end(begin);
  if (at == begin) return false;
  while (at < inside.size() && inside[at] == ' ') {
    const size_t equals = name_end(at + 1);
    if (equals == at + 1 || inside.compare(equals, 2, "=\"") != 0) return false;
    const size_t quote = inside.find('"', equals + 2);
    if (quote == std::string::npos) return false;
    if (inside.find('<', equals) < quote) return false;
    at = quote + 1;
  }
  return at == inside.size() || (at + 1 == inside.size() && inside[at] == '/');
}

// Whether every element is closed in order and everything else is text without '<' and without bare '&'.
inline bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  size_t at = 0;
  bool had_root = false;
  while (at < xml.size()) {
    const size_t tag = xml.find('<', at);
    const std::string text = xml.substr(at, tag == std::string::npos ? std::string::npos : tag - at);
    for (size_t entity = text.find('&'); entity != std::string::npos; entity = text.find('&', entity + 1)) {
      const std::string rest = text.substr(entity, 5);
      const bool known =
          rest == "&amp;" || rest == "&quot" || rest.substr(0, 4) == "&lt;" || rest.substr(0, 4) == "&gt;";
      if (!known) return false;
    }
    if (open.empty() && text.find_first_not_of(" \n") != std::string::npos) return false;
    if (tag == std::string::npos) break;
    const size_t end = xml.find('>', tag);
    if (end == std::string::npos) return false;
    const std::string inside = xml.substr(tag + 1, end - tag - 1);
    if (!has_sound_attributes(inside)) return false;
    const std::string name = inside.substr(0, inside.find(' '));
    if (open.empty() && had_root) return false;
    had_root = true;
    if (inside[0] == '/') {
      if (open.empty() || open.back() != inside.substr(1)) return false;
      open.pop_back();
    } else if (inside.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() && had_root;
}

inline size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace dtrain
