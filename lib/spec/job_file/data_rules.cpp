#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "core/patterns.h"
#include "core/text.h"
#include "job_file/rules.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

// What a job says about the columns of its table, and about its parts.
class DataRules : private RuleBase {
 public:
  explicit DataRules(const RuleBase& base) : RuleBase(base) {}

  void check() {
    check_columns();
    check_parts();
  }

 private:
  void check_columns() {
    const DataSpec& data = spec_.data;
    if (has_columns(data.dataset) && !has_problem("data.dataset") && !is_written("data.target") &&
        !has_problem("data.target"))
      add("data.target", "missing; it is required when data.dataset is csv or parquet");
    const std::pair<const char*, const std::optional<std::string>&> columns[] = {
        {"data.id", data.id}, {"data.split.group", data.split.group}, {"data.split.time", data.split.time}};
    for (const auto& [name, kind] : data.columns) {
      const std::string path = path_in("data.columns", printable(name, 60));
      if (!usable("data.columns")) break;
      if (kind == "ignore" && usable("data.target") && contains(data.target, name))
        add(path, "leaves out what data.target predicts; remove it from one of them");
      if (kind != "ignore" && usable("data.ignore") && contains(data.ignore, name))
        add(path, "says what the column holds, and data.ignore leaves it out; remove it from one of them");
      for (const auto& [field, column] : columns) {
        if (kind != "ignore" && usable(field) && column == name && column != data.split.time)
          add(path, "says what the column holds, and that of {} is not trained on; remove it here", field);
      }
    }
    for (const auto& [field, column] : columns)
      refuse(field, column && has_columns(data.dataset) && contains(data.target, *column),
             "is what data.target predicts; use another column");
    for (const std::string& name : data.target)
      refuse("data.ignore", contains(data.ignore, name) && usable("data.target"),
             "leaves out '{}', which data.target predicts; remove it from one of them", printable(name, 60));
    for (const std::string name : {"file", "row"})
      refuse("data.id", data.id == name,
             "'{0}' is what `dtrain predict --json` calls the {0} itself; rename the column", name);
    refuse("data.thousands", data.thousands == data.decimal && data.decimal != "auto",
           "is the decimal sign, too; write another, or none");
  }

  void check_parts() {
    const DataSpec& data = spec_.data;
    const SplitSpec& split = data.split;
    if (is_written("data.split") && !is_written("data.split.validation") && !is_written("data.split.test") &&
        !is_written("data.split.folds") && !has_problem("data.split") && !any_faulty_in("data.split"))
      add("data.split",
          "keeps no examples without `validation` or `test`, the part to keep, such as 0.1; to keep none: "
          "validation: none");
    refuse("data.split.test",
           usable("data.split.validation") &&
               data.split.test.value_or(0) + data.split.validation.value_or(0) >= 1,
           "leaves, with data.split.validation, nothing to train on");
    refuse("data.split.folds", split.folds && split.validation,
           "makes one fold the validation part; leave out data.split.validation");
    refuse("data.split.fold", split.folds && split.fold > *split.folds,
           "is more than the {} data.split.folds", split.folds.value_or(0));
    refuse("data.split.fold", split.fold > 1 && !split.folds,
           "is one of data.split.folds, which is missing; write how many folds there are");
    refuse("data.split.folds", split.folds && split.time && has_columns(data.dataset),
           "trains on rows that are later than those it validates on, which data.split.time rules out; leave "
           "out one of them");
    refuse("data.split.group", split.group && split.stratify && usable("data.split.stratify"),
           "keeps groups whole, which leaves data.split.stratify no choice of examples; write one of them");
    refuse("data.split.time", split.time && has_columns(data.dataset) && (split.group || split.stratify),
           "holds out the last rows, whatever is in them; leave out data.split.{}",
           split.group ? "group" : "stratify");
    if (!has_columns(data.dataset) && split.group && usable("data.split.group")) {
      try {
        const Pattern pattern(*split.group);
      } catch (const std::exception& error) {  // std::regex_error, whose header is slow to compile
        add("data.split.group", "is no regular expression: {}", error.what());
      }
    }
  }
};

}  // namespace

void check_columns_and_parts(const RuleBase& base) { DataRules(base).check(); }

}  // namespace dtrain
