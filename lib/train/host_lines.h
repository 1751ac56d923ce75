// What the supervisors of a job's hosts say to each other: lines of JSON over a link (launch/link.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "launch/supervisor.h"

namespace dtrain {

// On one line; bytes that are not UTF-8 are replaced.
std::string line_of(const nlohmann::json& object);

// How a host's replicas, or the whole run, ended.
nlohmann::json to_json(const SuperviseResult& result);
// The result that `line` has under `name`; nullopt when there is none, or one that this dtrain does not
// understand.
std::optional<SuperviseResult> result_from(const nlohmann::json& line, const char* name);

nlohmann::json to_json(const LostReplica& lost);
// Whether the line is about a loss; then that is `lost`.
bool read_loss(const nlohmann::json& line, LostReplica& lost);

}  // namespace dtrain
