// Prints values as YAML text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dtrain {

// The shortest text that reads back as the same number and that every version of YAML takes for a number.
std::string number_text(double value);

// A value in YAML's flow style, on one line: 1.0e-3, [256, 128], {kind: relu}.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace dtrain
