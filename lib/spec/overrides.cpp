#include "spec/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {

const char* const kOverrideName = "--set";

namespace {

constexpr size_t kMaxPathBytes = 200;

// Clears the line numbers of a tree that came from an override.
void mark_as_override(YamlNode& node) {
  node.line = node.column = 0;
  for (YamlNode& item : node.items) mark_as_override(item);
  for (YamlEntry& entry : node.entries) {
    mark_as_override(entry.key);
    mark_as_override(entry.value);
  }
}

YamlEntry* find_entry(YamlNode& map, const std::string& name) {
  const auto at = std::find_if(map.entries.begin(), map.entries.end(),
                               [&](const YamlEntry& entry) { return entry.key.text == name; });
  return at == map.entries.end() ? nullptr : &*at;
}

YamlNode make_node(YamlNode::Kind kind, const std::string& text = "") {
  YamlNode node;
  node.kind = kind;
  node.text = text;
  node.plain = true;
  return node;
}

// Adds or replaces an entry.
void set_entry(YamlNode& map, const std::string& name, YamlNode value) {
  YamlEntry entry{make_node(YamlNode::Kind::kScalar, name), std::move(value)};
  if (YamlEntry* const old = find_entry(map, name)) {
    *old = std::move(entry);
  } else {
    map.entries.push_back(std::move(entry));
  }
}

// The map at a section's path, created if it is missing. nullptr if the file has something else there;
// reading the file reports that as a problem.
YamlNode* section_at(YamlNode& root, const std::string& path) {
  YamlNode* map = &root;
  for (size_t begin = 0; begin < path.size() && map->kind == YamlNode::Kind::kMap;) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (!find_entry(*map, name)) set_entry(*map, name, make_node(YamlNode::Kind::kMap));
    map = &find_entry(*map, name)->value;
    begin = end + 1;
  }
  return map->kind == YamlNode::Kind::kMap ? map : nullptr;
}

// Groups of fields of which only one may be given: an override of one replaces the others in the file.
const std::vector<std::vector<std::string>> kAlternatives = {
    {"batch.per_replica", "batch.global"},
    {"checkpoint.every_epochs", "checkpoint.every_steps", "checkpoint.every_minutes"},
};

// Removes the alternatives to the field at `path` from its section.
void drop_alternatives(YamlNode& section, const std::string& path) {
  const std::string prefix = path.substr(0, path.rfind('.') + 1);
  for (const auto& ways : kAlternatives) {
    if (std::find(ways.begin(), ways.end(), path) == ways.end()) continue;
    const auto superseded = [&](const YamlEntry& entry) {
      const std::string name = prefix + entry.key.text;
      return entry.key.line != 0 && name != path && std::find(ways.begin(), ways.end(), name) != ways.end();
    };
    section.entries.erase(std::remove_if(section.entries.begin(), section.entries.end(), superseded),
                          section.entries.end());
  }
}

// Sets model.layers[INDEX].NAME. Returns the problem, or "" if there is none.
std::string set_layer_field(YamlNode& root, size_t index, const std::string& name, YamlNode value) {
  std::vector<std::string> names;
  for (const auto& field : layer_fields()) names.push_back(field.path);
  if (!find_field(layer_fields(), name)) return "unknown field of a layer" + did_you_mean(name, names);
  YamlNode* const model = section_at(root, "model");
  YamlEntry* const layers = model ? find_entry(*model, "layers") : nullptr;
  const size_t count = layers ? layers->value.items.size() : 0;
  if (index >= count)
    return fmt::format("there is no such layer; model.layers has {}, counted from 0", count);
  YamlNode& layer = layers->value.items[index];
  if (layer.kind == YamlNode::Kind::kMap) set_entry(layer, name, std::move(value));
  return "";
}

// Returns what is wrong with the path, or "" if nothing is.
std::string set_at(YamlNode& root, const std::string& path, YamlNode value) {
  static const std::regex kLayerField(R"(model\.layers\[(\d{1,4})\]\.(\w+))");
  std::smatch match;
  if (path.size() > kMaxPathBytes) return "unknown field";
  if (std::regex_match(path, match, kLayerField))
    return set_layer_field(root, std::stoul(match[1]), match[2], std::move(value));
  const auto below = names_in_section(path);
  if (path.empty() || (below.empty() && !find_field(job_fields(), path)))
    return "unknown field" + suggest_field(path);
  if (!below.empty()) return fmt::format("is a section; set one of its fields: {}", join(below));
  const size_t dot = path.rfind('.');
  YamlNode* const section = section_at(root, dot == std::string::npos ? "" : path.substr(0, dot));
  if (!section) return "";
  set_entry(*section, path.substr(dot == std::string::npos ? 0 : dot + 1), std::move(value));
  drop_alternatives(*section, path);
  return "";
}

}  // namespace

std::vector<Problem> apply_overrides(YamlNode& root, const std::vector<std::string>& overrides) {
  std::vector<Problem> problems;
  for (const std::string& text : overrides) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      problems.push_back(
          {kOverrideName, 0, 0, "", fmt::format("'{}' is not of the form path=value", printable(text, 60))});
      continue;
    }
    const std::string path = text.substr(0, equals);
    std::string problem;
    try {
      YamlNode value = parse_yaml(text.substr(equals + 1));
      mark_as_override(value);
      problem = set_at(root, path, std::move(value));
    } catch (const YamlError& error) {
      problem = fmt::format("{} (in '{}')", error.what(), printable(text, 60));
    }
    if (!problem.empty()) problems.push_back({kOverrideName, 0, 0, printable(path, 60), problem});
  }
  return problems;
}

}  // namespace dtrain
