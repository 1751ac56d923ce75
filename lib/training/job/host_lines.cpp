#include "job/host_lines.h"

#include <algorithm>

#include "core/exit_codes.h"

namespace dtrain {

using nlohmann::json;

std::optional<SuperviseResult> result_from(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_object()) return std::nullopt;
  try {
    auto result = found->get<SuperviseResult>();
    if (result.code != ExitCode::kDone) result.code = to_exit_code(static_cast<int>(result.code));
    result.evidence = std::clamp(result.evidence, Evidence{}, Evidence::kFailedItself);
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

json end_line(const SuperviseResult& result, std::optional<int64_t> restart) {
  json line = {{"end", result}};
  if (restart) line["restart"] = *restart;
  return line;
}

void take_end(const json& line, int64_t restart, std::optional<SuperviseResult>& end) {
  if (!line.is_object()) return;
  const auto said = result_from(line, "end");
  if (!said) return;
  const auto number = line.find("restart");
  const bool is_news = number == line.end() || *number == restart;
  if (said->code == ExitCode::kStopped || (is_news && !end)) end = said;
}

std::optional<LostReplica> loss_from(const json& line) {
  if (!line.is_object() || !line.contains("lost")) return std::nullopt;
  try {
    return line.at("lost").get<LostReplica>();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace dtrain
