#include <algorithm>
#include <nlohmann/json.hpp>

#include "documentation/document.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

using nlohmann::ordered_json;

// A value may always be a text with an environment variable instead.
const char* const kVariablePattern = "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}";

ordered_json with_bounds(ordered_json schema, const Bounds& bounds) {
  // Shows the bound of an integer as 1 and not as 1.0.
  const auto number = [](double value) {
    return value == static_cast<double>(static_cast<int64_t>(value))
               ? ordered_json(static_cast<int64_t>(value))
               : ordered_json(value);
  };
  if (bounds.minimum) schema[bounds.open_minimum ? "exclusiveMinimum" : "minimum"] = number(*bounds.minimum);
  if (bounds.maximum) schema[bounds.open_maximum ? "exclusiveMaximum" : "maximum"] = number(*bounds.maximum);
  return schema;
}

ordered_json scalar(const FieldInfo& field, const ordered_json& type) {
  ordered_json choices = ordered_json::array({type});
  if (const auto words = field.words(); !words.empty()) choices.push_back({{"enum", words}});
  choices.push_back({{"$ref", "#/definitions/variable"}});
  return {{"anyOf", choices}};
}

// Makes the schema of a value from the type of the member.
struct TypeSchema {
  const FieldInfo& field;

  template <class T>
  ordered_json of() const {
    return of(static_cast<const T*>(nullptr));
  }
  ordered_json of(const bool*) const { return scalar(field, {{"type", "boolean"}}); }
  ordered_json of(const int64_t*) const {
    return scalar(field, with_bounds({{"type", "integer"}}, field.bounds));
  }
  ordered_json of(const double*) const {
    return scalar(field, with_bounds({{"type", "number"}}, field.bounds));
  }
  ordered_json of(const std::string*) const {
    if (field.choices) return scalar(field, {{"enum", field.choices->built}});
    if (field.pattern.empty()) return {{"type", "string"}, {"minLength", 1}};
    return scalar(field, {{"type", "string"}, {"pattern", "^" + field.pattern + "$"}});
  }
  template <class T>
  ordered_json of(const std::optional<T>*) const {
    return of<T>();
  }
  ordered_json of(const std::vector<int64_t>*) const { return list(of<int64_t>()); }
  ordered_json of(const std::vector<double>*) const {
    const ordered_json number = with_bounds({{"type", "number"}}, field.bounds);
    if (field.one_or_more) return {{"anyOf", {of<double>(), list(number)}}};
    return list(of<double>());
  }
  ordered_json of(const std::vector<std::string>*) const {
    if (!field.choices) {
      const ordered_json name = of<std::string>();
      return field.one_or_more ? ordered_json{{"anyOf", {name, list(name)}}} : list(name);
    }
    const ordered_json device = {{"type", "string"}, {"pattern", "^(" + field.pattern + ")$"}};
    return {{"anyOf", {{{"enum", field.choices->built}}, device, list(device)}}};
  }
  ordered_json of(const std::map<std::string, std::string>*) const {
    return {{"type", "object"}, {"additionalProperties", of<std::string>()}};
  }
  ordered_json of(const ChannelNumbers*) const { return of<std::vector<double>>(); }
  ordered_json of(const ClassWeights*) const {
    const ordered_json number = of<double>();
    const ordered_json word = {{"enum", {"balanced"}}};
    const ordered_json by_name = {{"type", "object"}, {"additionalProperties", number}};
    return {{"anyOf", {word, {{"$ref", "#/definitions/variable"}}, list(number), by_name}}};
  }
  ordered_json of(const std::vector<LayerSpec>*) const { return list({{"$ref", "#/definitions/layer"}}); }
  ordered_json of(const std::vector<AugmentSpec>*) const {
    return list({{"anyOf", {{{"enum", augment_kinds().built}}, {{"$ref", "#/definitions/operation"}}}}});
  }
  ordered_json of(const std::vector<PhaseSpec>*) const { return list({{"$ref", "#/definitions/phase"}}); }
  ordered_json of(const std::vector<OptimizerEntry>*) const {
    return list({{"$ref", "#/definitions/optimizer"}});
  }
  ordered_json of(const TrainableSpec*) const {
    const ordered_json name = {{"type", "string"}, {"pattern", "^" + field.pattern + "$"}};
    const ordered_json last = {{"type", "object"},
                               {"properties", {{"last_layers", of<int64_t>()}}},
                               {"required", {"last_layers"}},
                               {"additionalProperties", false}};
    return {{"anyOf", {name, {{"$ref", "#/definitions/variable"}}, list(name), last}}};
  }

 private:
  ordered_json list(const ordered_json& item) const {
    return {{"type", "array"},
            {"items", item},
            {"minItems", field.length.least},
            {"maxItems", field.length.most}};
  }
};

template <class Spec>
ordered_json field_schema(const Field<Spec>& field) {
  std::string description = field.doc;
  if (!field.unit.empty()) description += " (" + field.unit + ")";
  if (!field.when.paths.empty()) description += "; only when " + condition_text(field.when);
  ordered_json schema = {{"description", description}};
  schema.update(std::visit(
      [&](const auto& member) {
        using T = typename std::decay_t<decltype(member)>::Type;
        return TypeSchema{field}.of<T>();
      },
      field.member));
  static const Spec defaults;
  const ordered_json value = to_json(field, defaults);
  if (!value.is_null() && !field.required && field.otherwise.empty()) schema["default"] = value;
  return schema;
}

ordered_json section_schema(const std::string& section) {
  ordered_json properties = ordered_json::object();
  for (const std::string& name : names_in_section(section)) {
    const std::string path = path_in(section, name);
    const auto* field = find_field(job_fields(), path);
    properties[name] = field ? field_schema(*field) : section_schema(path);
  }
  ordered_json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (section.empty()) schema["required"] = {"batch"};
  if (may_be_word(section))
    schema.update(
        {{"type", {"object", "string"}}, {"if", {{"type", "string"}}}, {"then", properties["kind"]}});
  if (section == "batch") schema["anyOf"] = {{{"required", {"per_replica"}}}, {{"required", {"global"}}}};
  return schema;
}

// Each kind of entry allows and requires its own fields. Without a selector it is of the default kind.
template <class Entry>
ordered_json entry_schema(const EntryList<Entry>& list) {
  ordered_json properties = ordered_json::object();
  for (const auto& field : list.fields) properties[field.path] = field_schema(field);
  ordered_json kinds = ordered_json::array();
  for (const std::string& kind : list.kinds.built) {
    const std::vector<std::string> names = list.fields_of_kind(kind);
    ordered_json required = ordered_json::array();
    for (const std::string& name : names) {
      if (find_field(list.fields, name)->required) required.push_back(name);
    }
    ordered_json is_kind = {{"properties", {{list.selector, {{"const", kind}}}}}};
    if (kind != list.kind_of(Entry())) is_kind["required"] = {list.selector};
    kinds.push_back(
        {{"if", is_kind}, {"then", {{"propertyNames", {{"enum", names}}}, {"required", required}}}});
  }
  ordered_json schema = {{"type", "object"}, {"properties", properties}};
  if (find_field(list.fields, list.selector)->required) schema["required"] = {list.selector};
  schema["additionalProperties"] = false;
  schema["allOf"] = kinds;
  return schema;
}

// {"properties": {"train": {"properties": {"epochs": `value`}, "required": ["epochs"]}}, "required":
// ["train"]}: the field at `path` is written, with a value like that.
ordered_json written(const std::string& path, ordered_json value) {
  for (size_t end = path.size();;) {
    const size_t dot = path.rfind('.', end - 1);
    const std::string name =
        dot == std::string::npos ? path.substr(0, end) : path.substr(dot + 1, end - dot - 1);
    const ordered_json as_word = value;
    value = {{"properties", {{name, value}}}, {"required", {name}}};
    if (dot == std::string::npos) return value;
    if (may_be_word(path.substr(0, dot))) {
      value["type"] = "object";
      if (name == "kind") value = {{"anyOf", {{{"type", "string"}, {"allOf", {as_word}}}, value}}};
    }
    end = dot;
  }
}

// Whether the condition holds: for certain, or as far as is known without the environment's variables.
ordered_json holds(const Condition& condition, bool for_certain) {
  ordered_json ways = ordered_json::array();
  for (const std::string& path : condition.paths) {
    const auto value = to_json(*find_field(job_fields(), path), JobSpec());
    const bool by_default =
        std::ranges::any_of(condition.values, [&](const std::string& known) { return value == known; });
    ordered_json any = ordered_json::array({{{"enum", condition.values}}});
    if (!for_certain) any.push_back({{"$ref", "#/definitions/variable"}});
    ways.push_back(by_default ? ordered_json{{"not", written(path, {{"not", {{"anyOf", any}}}})}}
                              : written(path, {{"anyOf", any}}));
  }
  return {{"anyOf", ways}};
}

// "Only when" and "required when" of every field.
ordered_json conditions() {
  ordered_json rules = ordered_json::array();
  for (const auto& field : job_fields()) {
    const ordered_json is_written = written(field.path, ordered_json::object());
    if (field.without_phases)
      rules.push_back({{"if", {{"required", {"phases"}}}}, {"then", {{"not", is_written}}}});
    if (field.when.paths.empty()) continue;
    rules.push_back({{"if", {{"not", holds(field.when, false)}}}, {"then", {{"not", is_written}}}});
    if (field.required) rules.push_back({{"if", holds(field.when, true)}, {"then", is_written}});
  }
  return rules;
}

}  // namespace

std::string json_schema() {
  ordered_json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "dtrain job spec"},
      {"definitions",
       {{"variable",
         {{"description", "an environment variable"}, {"type", "string"}, {"pattern", kVariablePattern}}},
        {"layer", entry_schema(entry_list<LayerSpec>())},
        {"operation", entry_schema(entry_list<AugmentSpec>())},
        {"optimizer", entry_schema(entry_list<OptimizerEntry>())},
        {"phase", entry_schema(entry_list<PhaseSpec>())}}}};
  schema.update(section_schema(""));
  schema["allOf"] = conditions();
  return schema.dump(2) + "\n";
}

}  // namespace dtrain
