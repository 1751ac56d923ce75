#include "yaml/word_sections.h"

#include <algorithm>

namespace dtrain {
namespace {

YamlNode* find_value(YamlNode& root, const std::string& path) {
  YamlNode* node = &root;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const auto entry = std::find_if(node->entries.begin(), node->entries.end(),
                                    [&](const YamlEntry& any) { return any.key.text == name; });
    if (entry == node->entries.end()) return nullptr;
    node = &entry->value;
    begin = end + 1;
  }
  return node;
}

}  // namespace

void write_words_out(YamlNode& root, const std::vector<std::string>& sections) {
  for (const std::string& section : sections) {
    YamlNode* const value = find_value(root, section);
    if (value == nullptr || value->kind != YamlNode::Kind::kScalar) continue;
    YamlEntry kind{*value, *value};
    kind.key.text = "kind";
    kind.key.plain = true;
    kind.key.complaint.clear();
    value->kind = YamlNode::Kind::kMap;
    value->text.clear();
    value->complaint.clear();
    value->entries = {std::move(kind)};
  }
}

}  // namespace dtrain
