// The only description of the fields of a spec: what each means, its unit, bounds and choices, and when it
// applies. Parsing, overrides, rules, printing, the JSON schema and docs/spec.md all read these tables.
// The defaults are those of a default-constructed struct.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// The names that a field accepts.
struct Choices {
  std::string noun;                // "strategy", for messages
  std::vector<std::string> built;  // accepted
};

const Choices& strategy_kinds();
const Choices& dataset_kinds();
const Choices& model_kinds();
const Choices& layer_kinds();
const Choices& augment_kinds();
const Choices& activation_kinds();
const Choices& initializer_kinds();
const Choices& optimizer_kinds();
const Choices& schedule_kinds();

// Bounds of a number, or of each number in a list. An open end excludes the bound itself.
struct Bounds {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool open_minimum = false;
  bool open_maximum = false;
  bool contain(double value) const;
};

// How many entries a list may have.
struct ListLength {
  size_t least = 0;
  size_t most = 0;
};

// The field applies only while one of the fields at `paths` has one of `values`; without paths, always.
struct Condition {
  std::vector<std::string> paths = {};
  std::vector<std::string> values = {};
};

struct FieldInfo {
  std::string path;  // "train.optimizer.kind"; for a field of a layer or an operation, just its name
  std::string doc;
  std::string doc_in_phases = {};  // for a field of a schedule: in its place, where a phase's is documented
  std::string unit = {};
  Bounds bounds = {};
  const Choices* choices = nullptr;
  ListLength length = {};    // for lists
  std::string pattern = {};  // for text: a regular expression that must match the whole text
  std::string made_of = {};  // what the pattern allows, in words
  std::string word = {};     // for optional fields: the word for "not given"
  // For optional integers: the word stands for this number, not for "not given".
  std::optional<int64_t> word_number = {};
  // For lists of numbers or texts: a single one may be written in place of a list with one entry.
  bool one_or_more = false;
  bool is_range = false;  // for lists of numbers: the last is no less than the first
  std::map<std::string, ChannelNumbers> named = {};  // for numbers of channels: words for some of them
  std::string otherwise = {};  // for optional fields without a word: what applies if not given
  Condition when = {};
  bool required = false;        // must be given wherever `when` holds
  bool file_system = false;     // for text: it names a file or folder
  bool may_be_address = false;  // or a file or folder elsewhere (core/addresses.h)
  bool common = false;          // most specs need it: docs/spec.md shows it before all others
  bool without_phases = false;  // for a job without `phases` only, which have their own

  // What may be written in place of a value: `word`, and the names of `named`.
  std::vector<std::string> words() const;
};

// Where a spec has the value of a field; nullptr if its kind has no such field.
template <class Spec, class T>
struct MemberOf {
  using Type = T;
  std::function<const T*(const Spec&)> read;
  std::function<T*(Spec&)> write;

  const T* at(const Spec& spec) const { return read(spec); }
  T* at(Spec& spec) const { return write(spec); }
};

template <class Spec>
using Accessor =
    std::variant<MemberOf<Spec, bool>, MemberOf<Spec, int64_t>, MemberOf<Spec, double>,
                 MemberOf<Spec, std::string>, MemberOf<Spec, std::optional<int64_t>>,
                 MemberOf<Spec, std::optional<double>>, MemberOf<Spec, std::optional<std::string>>,
                 MemberOf<Spec, std::vector<int64_t>>, MemberOf<Spec, std::vector<double>>,
                 MemberOf<Spec, std::vector<std::string>>, MemberOf<Spec, std::map<std::string, std::string>>,
                 MemberOf<Spec, std::vector<LayerSpec>>, MemberOf<Spec, ChannelNumbers>,
                 MemberOf<Spec, ClassWeights>, MemberOf<Spec, std::vector<AugmentSpec>>,
                 MemberOf<Spec, TrainableSpec>, MemberOf<Spec, std::vector<PhaseSpec>>,
                 MemberOf<Spec, std::vector<OptimizerEntry>>>;

template <class Spec>
struct Field : FieldInfo {
  Accessor<Spec> member;
};

template <class Spec>
using Fields = std::vector<Field<Spec>>;

// In the order in which fields are printed and documented, the most used first, section by section.
const Fields<JobSpec>& job_fields();

// A list of the job whose entries have fields of their own, which depend on one of them, mostly `kind`.
template <class Entry>
struct EntryList {
  std::string path;               // "model.layers"
  std::string one;                // "a layer", for messages
  std::string many;               // "layers"
  std::string example;            // "{kind: dense, units: 10}"
  std::string selector = "kind";  // the field that decides which others apply
  const Choices& kinds;           // its choices
  Fields<Entry> fields;           // in the order in which they are printed and documented
  // The selector's value in an entry; "" if it is required and was not given.
  std::string kind_of(const Entry& entry) const;
  // The names of the fields that entries of `kind` use, with `kind` first.
  std::vector<std::string> fields_of_kind(const std::string& kind) const;
};

// Of LayerSpec, AugmentSpec, PhaseSpec and OptimizerEntry.
template <class Entry>
const EntryList<Entry>& entry_list();

// The field at `path`, or nullptr if there is none.
template <class Spec>
const Field<Spec>* find_field(const Fields<Spec>& fields, const std::string& path) {
  for (const Field<Spec>& field : fields) {
    if (field.path == path) return &field;
  }
  return nullptr;
}

// The field's value as JSON: the field's word for the value that it stands for, and null for nullopt if there
// is no word. If the spec's kind does not have the field, the default of the first kind that has it.
template <class Spec>
nlohmann::ordered_json to_json(const Field<Spec>& field, const Spec& spec);

// Whether the field's condition is met in `spec`.
template <class Spec>
bool applies(const Fields<Spec>& fields, const FieldInfo& field, const Spec& spec);

// The names directly below a section of the job ("": the whole job), in order; empty: no such section.
std::vector<std::string> names_in_section(const std::string& section);

// Whether the section, or each item of the list, may be written as one word, the value of its field `kind`.
bool may_be_word(const std::string& section);
bool items_may_be_words(const std::string& list);

// "learning_rate" for "lr", and so on: the name that other programs have for a field. Any other name stays.
std::string usual_name(const std::string& name);

// A suggestion for an unknown path: "; did you mean 'train.epochs'?", or else "; known here: ...".
std::string suggest_field(const std::string& path);

// "model.kind is mlp or cnn"
std::string condition_text(const Condition& condition);
// When `field` applies, as documents show it: "; only when `model.kind is mlp`"; empty: always.
std::string applies_text(const FieldInfo& field);

// "1 to 1024", "at least 0", "above 0, at most 10"; empty if there are no bounds.
std::string bounds_text(const Bounds& bounds);

// "section.name", or just the name if the section is "".
std::string path_in(const std::string& section, const std::string& name);

}  // namespace dtrain
