// Starts the replica processes of one run on this host, passes on their reports, and ends all if one fails.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/signals.h"
#include "processes/status_board.h"

namespace dtrain {

// The program that this process runs, even if its file has been replaced or removed since.
inline constexpr const char* kOwnProgram = "/proc/self/exe";

struct ReplicaProcess {
  std::vector<std::string> arguments;              // [0] is the path of the program
  std::map<std::string, std::string> environment;  // added to, or replacing variables of, this process's
  std::filesystem::path log;                       // receives stdout and stderr; created or truncated
  std::string program = {};                        // what to execute, if not arguments[0]
  std::string name = {};                           // for messages; empty: "rank N"
  bool expendable = false;                         // the others continue if this one fails
  int restarts = 0;                                // how many times it is then started again
};

// Reports that an expendable process failed, with the reason in one line. The job continues.
struct LostReplica {
  int rank = 0;
  std::string reason = {};
  int restart = 0;  // the number of its next restart, from 1; 0: it is not started again
};

// How reliable the answer to "who failed first" is: peers of a dead replica fail too and blame each other.
// kToldToStop: others, who know more, told the replica to stop. kFailedItself: it failed, or got the signal.
enum class Evidence { kBlamesPeers, kWasSilent, kToldToStop, kFailedItself };

struct SuperviseResult {
  ExitCode code = ExitCode::kDone;
  int first_failing_rank = -1;  // -1 if no replica failed
  std::string message =
      {};               // for users: what failed first, what the others did, the log's path; empty if done
  int stop_signal = 0;  // the signal that stopped the job, if it arrived here
  std::string reason = {};  // the line of `message` that says what failed first
  Evidence evidence = Evidence::kBlamesPeers;
  int64_t step = 0;        // the step of the replica that failed first; 0: before the first step, or unknown
  std::string cause = {};  // what went wrong in it, in one line; empty: `reason` says everything
};

struct SuperviseOptions {
  // Called with each line of JSON that a replica wrote to its report descriptor, without the newline. The
  // line is not checked: a killed replica may leave an incomplete line. A line over kMaxReportLine is
  // replaced by {"event":"report_dropped","bytes":N}.
  std::function<void(int rank, const std::string& line)> on_report;
  // Called about ten times a second between reports, for instance to redraw a progress bar.
  std::function<void()> on_tick;
  // How long the others may take to end by themselves after the first failure (gather_seconds), and then
  // after SIGTERM (grace_seconds), before they get SIGKILL. Those that a signal has stopped get it at once.
  double gather_seconds = 0.5;
  double grace_seconds = 2.0;
  // How long processes may take to end after a stop signal, which is passed on to them, until SIGKILL.
  double stop_seconds = grace_seconds;
  // The number of stop signals that were already handled (core/signals.h). Any further one stops the job,
  // even if it arrived just before supervise() was called.
  int stop_signals_before = stop_signals_received();
  // Called at SIGQUIT with a text for users about what every process is doing. Running processes get it too.
  std::function<void(const std::string& text)> on_status = {};
  // Called when an expendable process is lost. lost.rank is its rank in the job.
  std::function<void(const LostReplica& lost)> on_lost = {};
  // Called as often as on_tick. If it returns a result, the job ends because of something outside this host.
  // supervise() returns this result, unless there is evidence as good that a replica on this host was the
  // cause: it failed, or, if other hosts only lost a peer, it was silent.
  std::function<std::optional<SuperviseResult>()> interrupted = {};
  int first_rank = 0;     // the rank of the first process, if the job has other hosts
  std::string host = {};  // this host's name, for messages; "" if there is only one host
};

// The result of a run that a stop signal ended. `host` is where it arrived; "" if there is only one host.
SuperviseResult stopped_by_signal(int signal, const std::string& host);

// Starts the processes, and blocks until every process has ended and been reaped.
//
// A replica that fails writes, if it can, a last report {"event":"failed","code":N,"message":"..."}. It finds
// the descriptors in its environment: DTRAIN_REPORT_FD for reports, DTRAIN_BOARD_FD for the board.
//
// If a process that is not expendable fails (a non-zero exit or a signal), the rest are ended within
// gather_seconds + grace_seconds. The first failing rank is the first that was killed by a signal or failed
// with a code other than kPeerLost, because peers of a dead replica blame each other. If all that fail say
// kPeerLost (a timeout), it is a rank that does not; among several, one that the board shows outside
// communication.
//
// A stop signal (the flags of core/signals.h) stops the job: all processes get SIGTERM, and SIGKILL after
// stop_seconds or at a second signal.
//
// Expendable processes that still run when all others have ended get grace_seconds to end too, or
// gather_seconds if a signal has stopped them. A process that a parameter server gives up on
// (processes/diagnosis.h) is ended as if it had failed; if it is not expendable, the job fails. A restarted
// process finds the number of its restart in DTRAIN_RESTART and has its own log ("worker1.log",
// "worker1.restart1.log").
//
// Children die with this thread, and have their own process group (process.h), so that Ctrl-C reaches only
// the supervisor. Nothing of the job is left when this function returns or throws.
//
// SIGTSTP (Ctrl-Z) stops all processes with this one; they go on when it does.
//
// Throws Error if a process cannot be started, after ending those that were: kUsage or kDisk names the log or
// program that cannot be opened, and kMemory means that there is no room for a process. One that cannot be
// restarted stays lost. Exceptions of callbacks are passed on.
//
// SIGUSR1 is passed on to the first process once the board shows that it has started; all replicas then do
// what this one decides. SIGQUIT is passed on to all processes. Processes start with both signals ignored.
SuperviseResult supervise(const std::vector<ReplicaProcess>& processes, StatusBoard& board,
                          const SuperviseOptions& options);

}  // namespace dtrain
