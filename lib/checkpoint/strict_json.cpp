#include "checkpoint/strict_json.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {

nlohmann::ordered_json parse_strict_json(const std::string& text, int depth, const std::string& what) {
  using Json = nlohmann::ordered_json;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto look = [&](int level, Json::parse_event_t event, Json& parsed) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && level >= depth)
      throw Error(ExitCode::kCheckpoint, fmt::format("{} nests deeper than {} levels", what, depth));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw Error(ExitCode::kCheckpoint,
                  fmt::format("{} has '{}' twice", what, printable(parsed.get<std::string>(), 60)));
    }
    return true;
  };
  try {
    return Json::parse(text, look);
  } catch (const Json::exception&) {
    throw Error(ExitCode::kCheckpoint, what + " is not JSON");
  }
}

}  // namespace dtrain
