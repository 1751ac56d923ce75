// Prints values as YAML text.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "spec/fields.h"

namespace dtrain {

// The lines of comment to print above a field; nullopt leaves the field out.
using CommentOn = std::function<std::optional<std::vector<std::string>>(const FieldInfo& field)>;

// The spec as YAML, with the fields that apply and that `comment_on` does not leave out.
std::string print_spec(const JobSpec& spec, const CommentOn& comment_on);

// The shortest text that reads back as the same number and that every version of YAML takes for a number.
std::string number_text(double value);

// A value in YAML's flow style, on one line: 1.0e-3, [256, 128], {kind: relu}.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace dtrain
