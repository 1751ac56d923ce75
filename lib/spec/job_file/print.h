// Prints a spec as YAML text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/fields.h"
#include "yaml/yaml_text.h"

namespace dtrain {

// The lines of comment to print above a field; nullopt leaves the field out.
using CommentOn = std::function<std::optional<std::vector<std::string>>(const FieldInfo& field)>;

// The spec as YAML, with the value of every field that applies and that `comment_on` does not leave out.
// Reading the whole spec back gives an equal one if the spec is valid.
std::string print_spec(
    const JobSpec& spec,
    const CommentOn& comment_on = [](const FieldInfo&) { return std::vector<std::string>(); });

}  // namespace dtrain
