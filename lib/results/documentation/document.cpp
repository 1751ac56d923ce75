#include "documentation/document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "job_file/print.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

const char* const kIntroduction = R"(# The job spec

<!-- Made by `dtrain schema --markdown > docs/spec.md`; do not edit. -->

A job is one YAML file. Every field has a default except the batch, so the smallest spec is

```yaml
batch: {per_replica: 64}
```

`dtrain init` writes a commented spec to start from, and `dtrain configs` copies one of the examples.
`dtrain validate SPEC` (`-` is the standard input) checks a spec and reports all its problems at once, each with file,
line and column:

```
job.yaml:4:3: train.epoch: unknown field; did you mean 'train.epochs'?
```

`dtrain plan SPEC` shows every value that a run would use, `dtrain schema` prints a JSON Schema for editors.

## What most specs need

This spec sets the ten fields that most specs need:

```yaml
name: digits
strategy: {kind: mirrored, replicas: 2}
data: {dataset: mnist}
batch: {per_replica: 64}
model: {kind: mlp}
train:
  epochs: 5
  optimizer: {kind: adam, learning_rate: 1.0e-3}
checkpoint: {every_epochs: 1}
```

)";

const char* const kAllFields = R"(
[`model.layers`](#modellayers) lists the layers of your own model, [`train.schedule`](#trainschedule) changes the
learning rate during the training, and [`compare`](#compare) trains a baseline first.

The rest of this page describes every field, section by section: first the training, then saving and reporting, then
settings for particular machines.
)";

const char* const kRest = R"(
## Overrides

`--set path=value` replaces a field for one call. You may repeat it; a later value overrides an earlier one. The value
is YAML. Entries of a list are counted from 0, as in `model.layers[1].units=32`:

```
dtrain run job.yaml --set train.epochs=3 --set model.hidden=[256,128]
```

If you set a new kind, dtrain drops the file's fields that only the old kind has, such as sgd's `momentum` with `--set
train.optimizer.kind=adam`, and prints a note on standard error that names them. A contradiction within the file, or
among several `--set`, is an error. `--unset path` removes a field or a section of the file.

Setting `batch.global` replaces the file's `batch.per_replica`, and vice versa, unless the file has both; the intervals
of `checkpoint` replace each other in the same way. To reset a field that takes a word such as `auto`, `all` or `none`,
set it to that word.

## Environment variables and paths

dtrain replaces `${NAME}` in a value by the environment variable before it reads the value as a number, word or path;
an unset variable is an error. It does not expand the content of a variable again. `$${` stands for a literal `${`.
Inside `[]` or `{}` the value needs quotes: `{epochs: "${EPOCHS}"}`.

A relative path starts at the folder of the spec, or with `--set` at the working folder. dtrain does not expand `~`:
write `${HOME}`.

## What YAML may hold

A spec is one YAML document in UTF-8, with at most 1 MiB, 20,000 values and 32 levels. dtrain refuses duplicate keys,
anchors and aliases, merge keys (`<<`), tags other than `!!str`, and keys that are not names. Booleans are `true` and
`false`; a number in quotes is text.
)";

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

// The fields that most specs need, by their whole paths.
std::string common_text() {
  std::string text = kTableHead;
  for (const auto& field : job_fields()) {
    if (field.common) text += row(field, field.path, "");
  }
  return text;
}

// The kinds of the entries of a list, and their fields.
template <class Entry>
std::string entries_text(const EntryList<Entry>& list, const std::string& introduction,
                         const std::string& example) {
  std::string text = fmt::format("\n## `{}`\n\n{}\n", list.path, introduction);
  const bool has_kinds = list.selector == "kind";  // which else is one field among others
  if (has_kinds) text += "\n| Kind | Fields |\n|---|---|\n";
  for (const std::string& kind : has_kinds ? list.kinds.built : std::vector<std::string>()) {
    std::vector<std::string> names = fields_of_kind(list.fields, kind);
    names.erase(names.begin());
    text += fmt::format("| `{}` | {} |\n", kind, names.empty() ? "" : "`" + join(names, "`, `") + "`");
  }
  text += std::string("\n") + kTableHead;
  for (const auto& field : list.fields) {
    text += row(field, field.path, has_kinds ? "" : applies_text(field));
  }
  return text + "\n```yaml\n" + example + "```\n";
}

const char* const kLayersIntroduction =
    R"(The list has one entry for each layer, from input to output; the last layer has as many units as there are
classes. A layer accepts only the fields that its kind uses:)";

const char* const kLayersExample = R"(model:
  kind: layers
  layers:
    - {kind: conv2d, filters: 32, kernel_size: 3}
    - {kind: relu}
    - {kind: max_pool2d}
    - {kind: flatten}
    - {kind: dense, units: 10}
)";

const char* const kAugmentIntroduction =
    R"(The list has one entry for each operation, in the order in which dtrain applies them. You can write an entry
without fields as a word. [Augmentation](data.md#augmentation) describes the operations. An operation accepts only the
fields that its kind uses:)";

const char* const kAugmentExample = R"(data:
  augment:
    - flip
    - {kind: random_crop, padding: 4, padding_mode: reflect}
    - {kind: rotate, degrees: 10, probability: 0.3}
    - {kind: mixup, alpha: 0.4}
)";

const char* const kPhasesIntroduction =
    R"(The list has one entry for each phase, in the order of training. It replaces `train.epochs` and `train.schedule`.
[Phases](transfer.md#phases) describes what changes from one phase to the next.)";

const char* const kPhasesExample = R"(phases:
  - {epochs: 3, trainable: head, learning_rate: 1.0e-3}
  - {epochs: 10, trainable: {last_layers: 10}, learning_rate: 1.0e-5, schedule: cosine}
)";

const char* const kOptimizersIntroduction =
    R"(The list has an entry for each group of parameters that has an optimizer of its own, such as the networks of a
generative adversarial network.)";

const char* const kOptimizersExample = R"(train:
  optimizer: {kind: adam, learning_rate: 2.0e-4}
  optimizers:
    - {parameters: discriminator.*, kind: sgd, learning_rate: 1.0e-2, momentum: 0.9}
)";

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
  if (section == "model") text += entries_text(entry_list<LayerSpec>(), kLayersIntroduction, kLayersExample);
  if (section == "data")
    text += entries_text(entry_list<AugmentSpec>(), kAugmentIntroduction, kAugmentExample);
  if (section.empty()) text += entries_text(entry_list<PhaseSpec>(), kPhasesIntroduction, kPhasesExample);
  if (section == "train")
    text += entries_text(entry_list<OptimizerEntry>(), kOptimizersIntroduction, kOptimizersExample);
  return text + subsections;
}

}  // namespace

std::string spec_markdown() { return kIntroduction + common_text() + kAllFields + section_text("") + kRest; }

}  // namespace dtrain
