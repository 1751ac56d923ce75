#include "job_file/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/patterns.h"
#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {

const char* const kOverrideName = "--set";

namespace {

constexpr const char* kUnsetName = "--unset";
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

// Removes the alternatives to the field at `path`, for which the file has no value, from its section.
void drop_alternatives(YamlNode& section, const std::string& path) {
  const std::string prefix = path.substr(0, path.rfind('.') + 1);
  for (const auto& ways : kAlternatives) {
    if (!contains(ways, path)) continue;
    const auto superseded = [&](const YamlEntry& entry) {
      const std::string name = prefix + entry.key.text;
      return entry.key.line != 0 && name != path && contains(ways, name);
    };
    std::erase_if(section.entries, superseded);
  }
}

// Whether the value is the word that a field has in place of one, such as `none`: no way by itself.
bool is_word_of(const FieldInfo& field, const YamlNode& value) {
  return value.kind == YamlNode::Kind::kScalar && !field.word.empty() && value.text == field.word;
}

// The path of a field of an entry of a list: model.layers[INDEX].NAME. Layers are in two lists.
struct EntryFieldPath {
  std::string list;
  size_t index;
  std::string name;
};

std::optional<EntryFieldPath> entry_field_path(const std::string& path) {
  static const Pattern kEntryField(
      R"((model\.layers|model\.head|data\.augment|phases|train\.optimizers)\[(\d{1,4})\]\.(\w+))");
  if (path.size() > kMaxPathBytes) return std::nullopt;
  const auto found = kEntryField.match(path);
  if (!found) return std::nullopt;
  return EntryFieldPath{(*found)[1].text, std::stoul((*found)[2].text), (*found)[3].text};
}

// The entry of a list that `path` is about, or nullptr and what is wrong.
YamlNode* entry_at(YamlNode& root, const EntryFieldPath& path, std::string& problem) {
  const size_t dot = path.list.find('.');
  YamlEntry* list = find_entry(root, path.list.substr(0, dot));
  if (list && dot != std::string::npos) list = find_entry(list->value, path.list.substr(dot + 1));
  const size_t count = list ? list->value.items.size() : 0;
  const auto entry_of = [&](const auto& of) -> YamlNode* {
    std::vector<std::string> names;
    for (const auto& field : of.fields) names.push_back(field.path);
    const bool known = contains(names, path.name);
    if (known && path.index < count) return &list->value.items[path.index];
    const std::string noun = of.one.substr(of.one.find(' ') + 1);
    problem = known ? fmt::format("there is no such {}; {} has {}, counted from 0", noun, path.list, count)
                    : fmt::format("unknown field of {}{}", of.one, did_you_mean(path.name, names));
    return nullptr;
  };
  if (path.list == entry_list<PhaseSpec>().path) return entry_of(entry_list<PhaseSpec>());
  if (path.list == entry_list<AugmentSpec>().path) return entry_of(entry_list<AugmentSpec>());
  if (path.list == entry_list<OptimizerEntry>().path) return entry_of(entry_list<OptimizerEntry>());
  return entry_of(entry_list<LayerSpec>());
}

// Returns what is wrong with the path of a field or section of the job, or "" if nothing is.
std::string unknown_path(const std::string& path) {
  static const Pattern kNumberAfterDot(R"(^(model\.layers|model\.head|data\.augment|phases)\.(\d{1,4})\.)");
  if (path.size() > kMaxPathBytes) return "unknown field";
  if (const std::string meant = kNumberAfterDot.replace(path, "$1[$2]."); meant != path)
    return fmt::format("the number of an entry is in brackets: --set '{}=VALUE' (counted from 0)", meant);
  if (!path.empty() && (find_field(job_fields(), path) || !names_in_section(path).empty())) return "";
  return "unknown field" + suggest_field(path);
}

// Returns what is wrong with the path, or "" if nothing is.
std::string set_at(YamlNode& root, const std::string& path, YamlNode value) {
  if (const auto of_entry = entry_field_path(path)) {
    std::string problem;
    YamlNode* const entry = entry_at(root, *of_entry, problem);
    if (entry && entry->kind == YamlNode::Kind::kMap) set_entry(*entry, of_entry->name, std::move(value));
    return problem;
  }
  if (std::string problem = unknown_path(path); !problem.empty()) return problem;
  const auto below = names_in_section(path);
  if (!below.empty()) return fmt::format("is a section; set one of its fields: {}", join(below));
  const size_t dot = path.rfind('.');
  YamlNode* const section = section_at(root, dot == std::string::npos ? "" : path.substr(0, dot));
  if (!section) return "";
  const std::string name = path.substr(dot == std::string::npos ? 0 : dot + 1);
  const FieldInfo& field = *find_field(job_fields(), path);
  const bool is_way = !is_word_of(field, value);
  const YamlEntry* const old = find_entry(*section, name);
  // The word of batch.per_replica is a number that is measured, and a way like others.
  const bool is_new = old == nullptr || (!field.word_number && is_word_of(field, old->value));
  set_entry(*section, name, std::move(value));
  if (is_new && is_way) drop_alternatives(*section, path);
  return "";
}

void remove_entries(YamlNode& map, const std::string& name) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key.text == name; });
}

// Removes what is at `path` below `map`, and every section that is empty then.
void remove_at(YamlNode& map, const std::string& path) {
  const size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  YamlEntry* const entry = find_entry(map, name);
  if (entry == nullptr) return;
  if (dot != std::string::npos) {
    remove_at(entry->value, path.substr(dot + 1));
    if (entry->value.kind != YamlNode::Kind::kMap || !entry->value.entries.empty()) return;
  }
  remove_entries(map, name);
}

bool decides_about_others(const std::string& path) {
  const EntryList<PhaseSpec>& phases = entry_list<PhaseSpec>();
  if (may_be_word(path) || path == phases.path) return true;
  if (const auto of_entry = entry_field_path(path))
    return of_entry->name == (of_entry->list == phases.path ? phases.selector : "kind");
  return std::any_of(job_fields().begin(), job_fields().end(),
                     [&](const FieldInfo& field) { return contains(field.when.paths, path); });
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

void write_words_out(YamlNode& value, const std::string& path) {
  if (may_be_word(path) && value.kind == YamlNode::Kind::kScalar) write_word_out(value);
  for (YamlEntry& entry : value.entries) write_words_out(entry.value, path_in(path, entry.key.text));
  for (YamlNode& item : value.items) {
    if (items_may_be_words(path) && item.kind == YamlNode::Kind::kScalar) write_word_out(item);
  }
}

std::string remove_field(YamlNode& root, const std::string& path) {
  if (const auto of_entry = entry_field_path(path)) {
    std::string problem;
    if (YamlNode* const entry = entry_at(root, *of_entry, problem)) remove_entries(*entry, of_entry->name);
    return problem;
  }
  const std::string problem = unknown_path(path);
  if (problem.empty()) remove_at(root, path);
  return problem;
}

std::vector<std::string> overrides_of_kinds(const std::vector<std::string>& overrides) {
  std::vector<std::string> kinds = overrides;
  std::erase_if(kinds,
                [](const auto& text) { return !decides_about_others(text.substr(0, text.find('='))); });
  return kinds;
}

std::vector<Problem> apply_overrides(YamlNode& root, const Overrides& overrides) {
  std::vector<Problem> problems;
  for (const std::string& path : overrides.unset) {
    const std::string problem = remove_field(root, path);
    if (!problem.empty()) problems.push_back({kUnsetName, 0, 0, printable(path, 60), problem});
  }
  for (const std::string& text : overrides.set) {
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
      const bool is_word = may_be_word(path) && value.kind == YamlNode::Kind::kScalar;
      if (!is_word) write_words_out(value, path);
      problem = set_at(root, is_word ? path + ".kind" : path, std::move(value));
    } catch (const YamlError& error) {
      problem = fmt::format("{} (in '{}')", error.what(), printable(text, 60));
    }
    if (!problem.empty()) problems.push_back({kOverrideName, 0, 0, printable(path, 60), problem});
  }
  return problems;
}

}  // namespace dtrain
