// Finds out which replica's failure ended a job, and describes it. Peers of a dead replica blame each other.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "processes/process.h"
#include "processes/status_board.h"
#include "processes/supervisor.h"

namespace dtrain {

// The final report of a replica that failed.
struct FailedReport {
  ExitCode code = ExitCode::kBug;
  std::string message;
  int stop_signal = 0;  // with kStopped: the signal that this replica got; 0: the others told it to stop
};

// Parses a report of failure ({"event":"failed","code":N,"message":"..."}, with "signal":N if a signal
// stopped the replica). nullopt for any other line.
std::optional<FailedReport> parse_failed_report(const std::string& line);

// A parameter server's report that it no longer serves a worker, which may still be running:
// {"event":"worker_given_up","rank":N,"restart":N,"message":"..."}.
struct GivenUpReport {
  int rank = 0;     // the worker's rank in the job
  int restart = 0;  // identifies the worker's process, if it was restarted
  std::string reason;
};
std::optional<GivenUpReport> parse_given_up_report(const std::string& line);

// What is known about one replica.
struct ReplicaOutcome {
  std::optional<FailedReport> report;
  std::optional<ProcessEnd>
      end;               // by itself or from outside; nullopt when it ran until the supervisor ended it
  ReplicaStatus status;  // when the first failure was noticed
  std::filesystem::path log;
  std::string name = {};  // empty: "rank N"
  // How many processes, perhaps this one, the kernel has killed for lack of memory since the job began.
  int64_t out_of_memory_kills = 0;
  // Why the supervisor gave up on the replica while it still ran; nullopt: it did not.
  std::optional<std::string> given_up = {};
};

// The outcome's name, or "rank N" if it has none.
std::string name_of(const ReplicaOutcome& outcome, int rank);

// The position of a host's replicas in a job with several hosts.
struct RanksOnHost {
  int first = 0;
  std::string host = {};  // the host's name; "" if there is only one host
};

// "stopped by SIGTERM sent to rank 1 on host b". Parts that are not known (0 or "") are left out.
std::string stop_text(int signal, const std::string& replica, const std::string& host);

// Why one replica failed, according to its report or its end, in one line.
std::string failure_text(const ReplicaOutcome& outcome);

// `failed` holds the positions in `outcomes` of the replicas that failed by themselves, in the order in which
// this was noticed. It is empty if only peers on other hosts complain. `now` is when the first failure was
// noticed (steady_seconds()). Reads the end of the failing replica's log.
SuperviseResult explain_failure(const std::vector<ReplicaOutcome>& outcomes, const std::vector<int>& failed,
                                double now, const RanksOnHost& ranks = {});

}  // namespace dtrain
