// The messages between the supervisors of a job's hosts: lines of JSON over a link (rendezvous/link.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "processes/supervisor.h"

namespace dtrain {

// How a host's replicas, or the whole run, ended. The names of the members are those in the lines.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SuperviseResult, code, first_failing_rank, message, reason, cause, step,
                                   evidence)
// The result that `line` has under `name`; nullopt if there is none, or none that this dtrain understands.
std::optional<SuperviseResult> result_from(const nlohmann::json& line, const char* name);

// The line with which a host reports how attempt `restart` of the run ended there; nullopt: the host was
// stopped before it had started an attempt.
nlohmann::json end_line(const SuperviseResult& result, std::optional<int64_t> restart);
// Sets `end` to what `line` reports about attempt `restart`. The first report counts. A report about another
// attempt is ignored, except a stop, which may come while the host waits for the verdict or an attempt.
void take_end(const nlohmann::json& line, int64_t restart, std::optional<SuperviseResult>& end);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LostReplica, rank, reason, restart)
// The loss that the line reports, if it does.
std::optional<LostReplica> loss_from(const nlohmann::json& line);

}  // namespace dtrain
