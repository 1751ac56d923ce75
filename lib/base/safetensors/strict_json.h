// Parses JSON from files that others may have written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace dtrain {

// Parses `text` in O(n log n) of its length, whatever its content. Throws an Error(kCheckpoint) that begins
// with `what` ("model.safetensors: its header") if the text is not JSON, is nested deeper than `depth`, or
// has a key twice in one object (readers differ in which value they take). Uses about 20 times the memory of
// the text, so limit the text's length first.
nlohmann::json parse_strict_json(const std::string& text, int depth, const std::string& what);

}  // namespace dtrain
