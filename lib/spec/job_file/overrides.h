// Overrides: "--set path=value" and "--unset path" change the tree of a spec before its fields are read.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "yaml/problem.h"
#include "yaml/yaml_tree.h"

namespace dtrain {

// The file name in problems with overrides.
extern const char* const kOverrideName;

// What the command line changes in a spec.
struct Overrides {
  Overrides(std::vector<std::string> set = {}, std::vector<std::string> unset = {})
      : set(std::move(set)), unset(std::move(unset)) {}
  Overrides(std::initializer_list<std::string> set) : set(set) {}

  std::vector<std::string> set;    // "path=value", in order; the last one for a field wins
  std::vector<std::string> unset;  // paths of fields and sections, removed before any is set
};

// Writes words in `value`, which is at `path`, out as sections: `loss: huber` is short for `loss: {kind:
// huber}`, and in a list `[flip]` for `[{kind: flip}]`. Problems with what replaces a word are located at the
// word.
void write_words_out(YamlNode& value, const std::string& path);

// Applies the overrides. `root` is the map of the whole spec. The values are YAML and are read as if they
// were written in the file, so their problems are reported together with those of the file. Returns problems
// with overrides that name no field or are not YAML.
std::vector<Problem> apply_overrides(YamlNode& root, const Overrides& overrides);

// The overrides, or paths of --unset, of fields that decide which other fields apply, such as strategy.kind.
std::vector<std::string> overrides_of_kinds(const std::vector<std::string>& overrides);

// Removes the field or section at `path`, such as "train.epochs" or "model.layers[0].units", if it is there,
// and then the section around it if that is empty. Returns what is wrong with the path, or "" if nothing is.
std::string remove_field(YamlNode& root, const std::string& path);

}  // namespace dtrain
