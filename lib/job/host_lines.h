// What the supervisors of a job's hosts say to each other: lines of JSON over a link (rendezvous/link.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "supervise/supervisor.h"

namespace dtrain {

// How a host's replicas, or the whole run, ended.
nlohmann::json to_json(const SuperviseResult& result);
// The result that `line` has under `name`; nullopt when there is none, or one that this dtrain does not
// understand.
std::optional<SuperviseResult> result_from(const nlohmann::json& line, const char* name);

// A host's word on how attempt `restart` of the run ended there; nullopt: it was stopped before it had
// started any.
nlohmann::json end_line(const SuperviseResult& result, std::optional<int64_t> restart);
// Puts what `line` says of attempt `restart` into `end`. The first word counts, and what is about another
// attempt is no news, but for a stop, which may come while the host waits for the verdict or for the next
// attempt.
void take_end(const nlohmann::json& line, int64_t restart, std::optional<SuperviseResult>& end);

nlohmann::json to_json(const LostReplica& lost);
// Whether the line is about a loss; then that is `lost`.
bool read_loss(const nlohmann::json& line, LostReplica& lost);

}  // namespace dtrain
