#include "job_file/moved_fields.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

namespace dtrain {
namespace {

struct MovedField {
  const char* name;
  const char* from;  // a section of the job
  const char* to;
};

constexpr std::array<MovedField, 1> kMoved = {{{"channels_last", "cuda", "train"}}};

std::vector<YamlEntry>::iterator entry_named(YamlNode& map, const std::string& name) {
  return std::find_if(map.entries.begin(), map.entries.end(),
                      [&](const YamlEntry& entry) { return entry.key.text == name; });
}

// The section `name`, made where `like` is if it is missing. What is there may be something else.
YamlNode& section_like(YamlNode& root, const std::string& name, const YamlNode& like) {
  auto section = entry_named(root, name);
  if (section == root.entries.end()) {
    YamlEntry made{like, YamlNode()};
    made.key.text = name;
    made.value.kind = YamlNode::Kind::kMap;
    made.value.line = like.line;
    made.value.column = like.column;
    section = root.entries.insert(root.entries.end(), std::move(made));
  }
  return section->value;
}

void move(YamlNode& root, const MovedField& field) {
  const auto section = entry_named(root, field.from);
  if (section == root.entries.end()) return;
  const auto old = entry_named(section->value, field.name);
  if (old == section->value.entries.end()) return;
  YamlEntry moved = *old;
  const auto index = std::distance(root.entries.begin(), section);
  YamlNode& to = section_like(root, field.to, moved.key);
  if (to.kind != YamlNode::Kind::kMap || entry_named(to, field.name) != to.entries.end()) return;
  to.entries.push_back(std::move(moved));
  YamlNode& from = root.entries[static_cast<size_t>(index)].value;
  from.entries.erase(entry_named(from, field.name));
}

}  // namespace

void move_fields(YamlNode& root) {
  for (const MovedField& field : kMoved) move(root, field);
}

}  // namespace dtrain
