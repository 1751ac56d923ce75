#include "job/host_lines.h"

#include <algorithm>

#include "core/exit_codes.h"

namespace dtrain {

using nlohmann::json;

json to_json(const SuperviseResult& result) {
  return {{"code", static_cast<int>(result.code)},
          {"rank", result.first_failing_rank},
          {"message", result.message},
          {"reason", result.reason},
          {"cause", result.cause},
          {"step", result.step},
          {"evidence", static_cast<int>(result.evidence)}};
}

std::optional<SuperviseResult> result_from(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_object()) return std::nullopt;
  try {
    SuperviseResult result;
    const int code = found->at("code").get<int>();
    result.code = code == 0 ? ExitCode::kDone : to_exit_code(code);
    result.first_failing_rank = found->at("rank").get<int>();
    result.message = found->at("message").get<std::string>();
    result.reason = found->at("reason").get<std::string>();
    result.cause = found->at("cause").get<std::string>();
    result.step = found->at("step").get<int64_t>();
    const int evidence = found->at("evidence").get<int>();
    result.evidence =
        static_cast<Evidence>(std::clamp(evidence, 0, static_cast<int>(Evidence::kFailedItself)));
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

json end_line(const SuperviseResult& result, std::optional<int64_t> restart) {
  json line = {{"end", to_json(result)}};
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

json to_json(const LostReplica& lost) {
  return {{"rank", lost.rank}, {"reason", lost.reason}, {"restart", lost.restart}};
}

bool read_loss(const json& line, LostReplica& lost) {
  if (!line.is_object() || !line.contains("lost")) return false;
  try {
    const json& loss = line.at("lost");
    lost.rank = loss.at("rank").get<int>();
    lost.reason = loss.at("reason").get<std::string>();
    lost.restart = loss.at("restart").get<int>();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace dtrain
