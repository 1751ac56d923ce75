// JSON of files that others may have written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dtrain {

// Parses `text`; in n log n of its length, whatever is in it. Throws Error(kCheckpoint), beginning with
// `what` ("model.safetensors: its header"), when it is no JSON, nests deeper than `depth`, or has a key twice
// in one object (where readers differ in which they take). Memory is bounded by some 20 times the text: limit
// that before.
nlohmann::json parse_strict_json(const std::string& text, int depth, const std::string& what);

}  // namespace dtrain
