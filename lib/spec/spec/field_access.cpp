#include "spec/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json value_json(const FieldInfo& field, const std::optional<T>& value) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (field.word_number && value == field.word_number) return field.word;
  }
  if (value) return *value;
  return field.word.empty() || field.word_number ? ordered_json() : ordered_json(field.word);
}

// A list of choices (devices) with one entry is written as a single word. No texts stand for a default that
// the field's `otherwise` tells.
ordered_json value_json(const FieldInfo& field, const std::vector<std::string>& texts) {
  if (texts.empty() && !field.otherwise.empty()) return {};
  return field.choices && texts.size() == 1 ? ordered_json(texts.front()) : ordered_json(texts);
}

// No numbers stand for a default that the field's `otherwise` tells.
ordered_json value_json(const FieldInfo& field, const std::vector<double>& numbers) {
  if (!field.one_or_more && !(numbers.empty() && !field.otherwise.empty())) return numbers;
  return numbers.empty()       ? ordered_json()
         : numbers.size() == 1 ? ordered_json(numbers.front())
                               : ordered_json(numbers);
}

ordered_json value_json(const FieldInfo& field, const ChannelNumbers& numbers) {
  if (!numbers.measured) return value_json(field, numbers.values);
  for (const auto& [name, meant] : field.named) {
    if (meant.measured) return name;
  }
  return {};
}

template <class Spec>
const Fields<Spec>& fields_of() {
  if constexpr (std::is_same_v<Spec, JobSpec>) {
    return job_fields();
  } else {
    return entry_list<Spec>().fields;
  }
}

// A spec of the first kind that has the field.
template <class Spec>
Spec spec_with(const FieldInfo& field) {
  Spec spec;
  if constexpr (!std::is_same_v<Spec, KindFields>) {
    const auto* const kind = find_field(fields_of<Spec>(), field.when.paths.front());
    *std::get<MemberOf<Spec, std::string>>(kind->member).at(spec) = field.when.values.front();
  }
  return spec;
}

template <class Entry>
ordered_json value_json(const FieldInfo&, const std::vector<Entry>& entries) {
  if constexpr (std::is_integral_v<Entry>) {
    return entries;
  } else {
    ordered_json list = ordered_json::array();
    for (const Entry& entry : entries) {
      ordered_json object = ordered_json::object();
      for (const Field<Entry>& field : entry_list<Entry>().fields) {
        const ordered_json value = to_json(field, entry);
        if (applies(entry_list<Entry>().fields, field, entry) && !value.is_null()) object[field.path] = value;
      }
      list.push_back(object);
    }
    return list;
  }
}

ordered_json value_json(const FieldInfo&, const ClassWeights& weights) {
  if (weights.balanced) return "balanced";
  if (weights.names.empty()) return weights.weights;
  ordered_json by_name = ordered_json::object();
  for (size_t i = 0; i < weights.names.size(); ++i) by_name[weights.names[i]] = weights.weights[i];
  return by_name;
}

ordered_json value_json(const FieldInfo&, const TrainableSpec& trainable) {
  if (trainable.last_layers) return {{"last_layers", *trainable.last_layers}};
  return trainable.layers.size() == 1 ? ordered_json(trainable.layers.front())
                                      : ordered_json(trainable.layers);
}

template <class T>
ordered_json value_json(const FieldInfo&, const T& value) {
  return value;
}

// The last name of a path.
std::string name_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Whether `path` is in the same first section as `other`, "model" of "model.layers", or `other` is in none.
bool is_near(const std::string& path, const std::string& other) {
  const size_t dot = other.find('.');
  return dot == std::string::npos || path.compare(0, dot + 1, other, 0, dot + 1) == 0;
}

// The sections and fields anywhere in the spec that are named like `path`, or else those near it with the
// closest such name; joined for a question.
std::string named_elsewhere(const std::string& path) {
  const std::string name = name_of(path);
  std::vector<std::string> paths;
  for (const auto& field : job_fields()) {
    for (size_t dot = field.path.find('.'); dot != std::string::npos; dot = field.path.find('.', dot + 1)) {
      if (!contains(paths, field.path.substr(0, dot))) paths.push_back(field.path.substr(0, dot));
    }
    // Names so deep in the spec are usually meant elsewhere.
    if (std::count(field.path.begin(), field.path.end(), '.') < 3) paths.push_back(field.path);
  }
  const auto keep = [&paths](const auto& kept) {
    std::erase_if(paths, [&](const auto& each) { return !kept(each); });
  };
  const auto names_of = [&paths] {
    std::vector<std::string> names;
    for (const auto& each : paths) names.push_back(name_of(each));
    return names;
  };
  std::string closest = name;
  if (!contains(names_of(), name)) {
    keep([&](const std::string& each) { return is_near(each, path); });
    closest = closest_word(name, names_of()).value_or("");
  }
  keep([&](const std::string& each) { return name_of(each) == closest; });
  return join(paths, "' or '");
}

}  // namespace

std::vector<std::string> FieldInfo::words() const {
  std::vector<std::string> all;
  if (!word.empty()) all.push_back(word);
  for (const auto& [name, numbers] : named) all.push_back(name);
  return all;
}

bool Bounds::contain(double value) const {
  if (minimum && (open_minimum ? value <= *minimum : value < *minimum)) return false;
  return !maximum || (open_maximum ? value < *maximum : value <= *maximum);
}

template <class Spec>
ordered_json to_json(const Field<Spec>& field, const Spec& spec) {
  const auto json = [&](const auto& member) {
    const auto* const value = member.at(spec);
    return value ? value_json(field, *value) : to_json(field, spec_with<Spec>(field));
  };
  return std::visit(json, field.member);
}

template <class Spec>
bool applies(const Fields<Spec>& fields, const FieldInfo& field, const Spec& spec) {
  if constexpr (std::is_same_v<Spec, JobSpec>) {
    if (field.without_phases && !spec.phases.empty()) return false;
  }
  if (field.when.paths.empty()) return true;
  return std::any_of(field.when.paths.begin(), field.when.paths.end(), [&](const std::string& path) {
    return contains(field.when.values, to_json(*find_field(fields, path), spec).template get<std::string>());
  });
}

template ordered_json to_json(const Field<JobSpec>&, const JobSpec&);
template ordered_json to_json(const Field<LayerSpec>&, const LayerSpec&);
template ordered_json to_json(const Field<AugmentSpec>&, const AugmentSpec&);
template ordered_json to_json(const Field<PhaseSpec>&, const PhaseSpec&);
template ordered_json to_json(const Field<OptimizerEntry>&, const OptimizerEntry&);
template ordered_json to_json(const Field<KindFields>&, const KindFields&);
template bool applies(const Fields<JobSpec>&, const FieldInfo&, const JobSpec&);
template bool applies(const Fields<LayerSpec>&, const FieldInfo&, const LayerSpec&);
template bool applies(const Fields<AugmentSpec>&, const FieldInfo&, const AugmentSpec&);
template bool applies(const Fields<PhaseSpec>&, const FieldInfo&, const PhaseSpec&);
template bool applies(const Fields<OptimizerEntry>&, const FieldInfo&, const OptimizerEntry&);

template <class Entry>
std::string EntryList<Entry>::kind_of(const Entry& entry) const {
  return to_json(*find_field(fields, selector), entry).template get<std::string>();
}

template <class Entry>
std::vector<std::string> EntryList<Entry>::fields_of_kind(const std::string& kind) const {
  std::vector<std::string> names;
  for (const auto& field : fields) {
    if (field.when.paths.empty() || contains(field.when.values, kind)) names.push_back(field.path);
  }
  return names;
}

template struct EntryList<LayerSpec>;
template struct EntryList<AugmentSpec>;
template struct EntryList<PhaseSpec>;
template struct EntryList<OptimizerEntry>;

std::vector<std::string> names_in_section(const std::string& section) {
  const std::string prefix = section.empty() ? "" : section + ".";
  std::vector<std::string> names;
  for (const auto& field : job_fields()) {
    if (field.path.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string rest = field.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

bool may_be_word(const std::string& section) { return section == "train.loss"; }
bool items_may_be_words(const std::string& list) { return list == entry_list<AugmentSpec>().path; }

std::string usual_name(const std::string& name) {
  return name == "lr" ? "learning_rate" : name == "batch_size" ? "per_replica" : name;
}

std::string suggest_field(const std::string& path) {
  const size_t dot = path.rfind('.');
  std::string section = dot == std::string::npos ? "" : path.substr(0, dot);
  const std::string name = usual_name(name_of(path));
  const auto sibling = closest_word(name, names_in_section(section));
  if (sibling) return fmt::format("; did you mean '{}'?", path_in(section, *sibling));
  const std::string elsewhere = named_elsewhere(path_in(section, name));
  if (!elsewhere.empty()) return fmt::format("; did you mean '{}'?", elsewhere);
  if (names_in_section(section).empty()) section.clear();
  return "; known here: " + join(names_in_section(section));
}

std::string condition_text(const Condition& condition) {
  return join(condition.paths, " or ") + " is " + join(condition.values, " or ");
}

std::string applies_text(const FieldInfo& field) {
  std::string text = field.when.paths.empty() ? "" : "; only when `" + condition_text(field.when) + "`";
  if (field.without_phases) text += "; not with `phases`";
  return text;
}

std::string bounds_text(const Bounds& bounds) {
  if (bounds.minimum && bounds.maximum && !bounds.open_minimum && !bounds.open_maximum)
    return number_text(*bounds.minimum) + " to " + number_text(*bounds.maximum);
  std::vector<std::string> parts;
  if (bounds.minimum)
    parts.push_back((bounds.open_minimum ? "above " : "at least ") + number_text(*bounds.minimum));
  if (bounds.maximum)
    parts.push_back((bounds.open_maximum ? "below " : "at most ") + number_text(*bounds.maximum));
  return join(parts);
}

std::string path_in(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

}  // namespace dtrain
