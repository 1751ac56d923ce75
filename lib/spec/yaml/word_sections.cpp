#include "yaml/word_sections.h"

#include <algorithm>
#include <utility>

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

// `word` becomes `{kind: word}`.
void write_word_out(YamlNode& word) {
  YamlEntry kind{word, word};
  kind.key.text = "kind";
  kind.key.plain = true;
  kind.key.complaint.clear();
  word.kind = YamlNode::Kind::kMap;
  word.text.clear();
  word.complaint.clear();
  word.entries = {std::move(kind)};
}

}  // namespace

void write_words_out(YamlNode& root, const std::vector<std::string>& sections) {
  for (const std::string& section : sections) {
    YamlNode* const value = find_value(root, section);
    if (value != nullptr && value->kind == YamlNode::Kind::kScalar) write_word_out(*value);
  }
}

void write_words_in_lists_out(YamlNode& root, const std::vector<std::string>& lists) {
  for (const std::string& list : lists) {
    YamlNode* const value = find_value(root, list);
    if (value != nullptr) write_items_out(*value);
  }
}

void write_items_out(YamlNode& list) {
  for (YamlNode& item : list.items) {
    if (item.kind == YamlNode::Kind::kScalar) write_word_out(item);
  }
}

}  // namespace dtrain
