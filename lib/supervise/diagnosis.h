// Which replica's failure ended a job, and how to say so: peers of a dead replica fail too and blame each
// other.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "supervise/process.h"
#include "supervise/status_board.h"
#include "supervise/supervisor.h"

namespace dtrain {

// A replica's last words.
struct FailedReport {
  ExitCode code = ExitCode::kBug;
  std::string message;
  int stop_signal = 0;  // with kStopped: the one that this replica got; 0: it was told by others
};

// The line as a report of failure ({"event":"failed","code":N,"message":"..."}, with "signal":N where a
// signal stopped the replica); nullopt for any other line.
std::optional<FailedReport> parse_failed_report(const std::string& line);

// A parameter server's word that it serves a worker no more, which may still run:
// {"event":"worker_given_up","rank":N,"restart":N,"message":"..."}.
struct GivenUpReport {
  int rank = 0;     // in the job
  int restart = 0;  // of the process that is meant
  std::string reason;
};
std::optional<GivenUpReport> parse_given_up_report(const std::string& line);

// What is known of one replica.
struct ReplicaOutcome {
  std::optional<FailedReport> report;
  std::optional<ProcessEnd>
      end;               // by itself or from outside; nullopt when it ran until the supervisor ended it
  ReplicaStatus status;  // when the first failure was noticed
  std::filesystem::path log;
  std::string name = {};  // "rank N" when empty
  // Processes that the kernel has ended for lack of memory since the job began, this one perhaps among them.
  int64_t out_of_memory_kills = 0;
  // Why the supervisor gave it up while it still ran; nullopt: it did not.
  std::optional<std::string> given_up = {};
};

// outcome.name, or "rank N".
std::string name_of(const ReplicaOutcome& outcome, int rank);

// Where the replicas of a host stand in a job that has more.
struct RanksOnHost {
  int first = 0;
  std::string host = {};  // its name; "" when there is no other
};

// "stopped by SIGTERM sent to rank 1 on host b": without what is not known, 0 or "".
std::string stop_text(int signal, const std::string& replica, const std::string& host);

// Why one replica failed, by its report or its end, in one line.
std::string failure_text(const ReplicaOutcome& outcome);

// `failed` are the positions in `outcomes` of those that failed by themselves, in the order noticed; none
// when only peers on other hosts complain; `now` is when their first was noticed (steady_seconds()). Reads
// the end of the failing replica's log.
SuperviseResult explain_failure(const std::vector<ReplicaOutcome>& outcomes, const std::vector<int>& failed,
                                double now, const RanksOnHost& ranks = {});

}  // namespace dtrain
