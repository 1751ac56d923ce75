#include "documentation/document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "documentation/texts.h"
#include "spec/fields.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

// The type of a field as the reference shows it.
struct TypeText {
  const FieldInfo& field;

  std::string of(const bool*) const { return "boolean"; }
  std::string of(const int64_t*) const { return "integer"; }
  std::string of(const double*) const { return "number"; }
  std::string of(const std::string*) const { return field.choices ? choices(field.choices->built) : "text"; }
  template <class T>
  std::string of(const std::optional<T>*) const {
    return of(static_cast<const T*>(nullptr)) + or_word();
  }
  std::string of(const std::vector<int64_t>*) const { return "list of integers"; }
  std::string of(const std::vector<double>*) const {
    return field.one_or_more ? "number, or a list of numbers" + or_word() : "list of numbers";
  }
  std::string of(const std::vector<std::string>*) const {
    return field.choices ? choices(field.choices->built) + ", a device such as `cuda:0`, or a list of devices"
           : field.one_or_more ? "name, or list of names"
                               : "list of names";
  }
  std::string of(const std::map<std::string, std::string>*) const {
    return choices(field.choices->built) + ", by name";
  }
  std::string of(const std::vector<LayerSpec>*) const { return "list of layers"; }
  std::string of(const ChannelNumbers*) const { return of(static_cast<const std::vector<double>*>(nullptr)); }
  std::string of(const ClassWeights*) const { return "list of numbers, numbers by name, or `balanced`"; }
  std::string of(const std::vector<AugmentSpec>*) const { return "list of operations"; }
  std::string of(const std::vector<PhaseSpec>*) const { return "list of phases"; }
  std::string of(const std::vector<OptimizerEntry>*) const { return "list of optimizers"; }
  std::string of(const TrainableSpec*) const {
    return "`all`, `head`, name, list of names, or `{last_layers: N}`";
  }

 private:
  std::string or_word() const {
    const std::vector<std::string> words = field.words();
    return words.empty() ? "" : ", or `" + join(words, "`, or `") + "`";
  }
  static std::string choices(const std::vector<std::string>& names) {
    return "`" + join(names, "`, `") + "`";
  }
};

// A `|` would end the table's cell.
std::string pattern_text(std::string pattern) {
  for (size_t bar; (bar = pattern.find('|')) != std::string::npos;) pattern.replace(bar, 1, "` or `");
  return "`" + pattern + "`";
}

std::string bounds_and_unit(const FieldInfo& field) {
  std::vector<std::string> parts;
  if (const std::string bounds = bounds_text(field.bounds); !bounds.empty()) parts.push_back(bounds);
  if (!field.unit.empty()) parts.push_back(field.unit);
  if (!field.pattern.empty()) parts.push_back(pattern_text(field.pattern));
  std::string text = join(parts, " ");
  if (field.length.most > 0) {
    const ListLength& length = field.length;
    text += text.empty() ? "" : "; ";
    text += length.least == length.most ? fmt::format("{} entries", length.most)
                                        : fmt::format("{} to {} entries", length.least, length.most);
  }
  return text;
}

// One line of a table: the field is shown as `name`.
template <class Spec>
std::string row(const Field<Spec>& field, const std::string& name, const std::string& condition) {
  const auto value = to_json(field, Spec{});
  const std::string type = std::visit(
      [&](const auto& member) {
        using T = typename std::decay_t<decltype(member)>::Type;
        return TypeText{field}.of(static_cast<const T*>(nullptr));
      },
      field.member);
  std::string otherwise = field.required ? "required" : field.otherwise;
  if (otherwise.empty()) otherwise = "`" + yaml_text(value) + "`";
  return fmt::format("| `{}` | {} | {} | {} | {}{} |\n", name, type, otherwise, bounds_and_unit(field),
                     field.doc, condition);
}

const char* const kTableHead = "| Field | Type | Default | Bounds, unit | Meaning |\n|---|---|---|---|---|\n";

// The kinds of the entries of a list, and their fields, where `text` has FIELDS.
template <class Entry>
std::string entries_text(const EntryList<Entry>& list, const std::string& text) {
  std::string fields;
  const bool has_kinds = list.selector == "kind";  // which else is one field among others
  if (has_kinds) fields += "\n| Kind | Fields |\n|---|---|\n";
  for (const std::string& kind : has_kinds ? list.kinds.built : std::vector<std::string>()) {
    std::vector<std::string> names = list.fields_of_kind(kind);
    names.erase(names.begin());
    fields += fmt::format("| `{}` | {} |\n", kind, names.empty() ? "" : "`" + join(names, "`, `") + "`");
  }
  fields += std::string("\n") + kTableHead;
  for (const auto& field : list.fields)
    fields += row(field, field.path, has_kinds ? "" : applies_text(field));
  return fmt::format("\n## `{}`\n\n{}", list.path, filled(text, {{"FIELDS", fields}}));
}

// The section's own fields, then those of its subsections.
std::string section_text(const std::string& section) {
  std::string rows;
  std::string subsections;
  for (const std::string& name : names_in_section(section)) {
    const std::string path = path_in(section, name);
    if (const auto* field = find_field(job_fields(), path)) {
      rows += row(*field, name, applies_text(*field));
    } else {
      subsections += section_text(path);
    }
  }
  std::string text;
  if (!rows.empty()) {
    text = section.empty() ? "\n## Top level\n\n" : fmt::format("\n## `{}`\n\n", section);
    text += kTableHead + rows;
  }
  if (section == "model") text += entries_text(entry_list<LayerSpec>(), texts::layers_md);
  if (section == "data") text += entries_text(entry_list<AugmentSpec>(), texts::augment_md);
  if (section.empty()) text += entries_text(entry_list<PhaseSpec>(), texts::phases_md);
  if (section == "train") text += entries_text(entry_list<OptimizerEntry>(), texts::optimizers_md);
  return text + subsections;
}

}  // namespace

std::string spec_markdown() {
  std::string common = kTableHead;  // the fields that most specs need, by their whole paths
  for (const auto& field : job_fields()) {
    if (field.common) common += row(field, field.path, "");
  }
  return filled(texts::spec_md, {{"COMMON", common}, {"SECTIONS", section_text("")}});
}

}  // namespace dtrain
