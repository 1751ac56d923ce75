// Starts the replica processes of one run on this host, relays their reports, and ends them all when one
// fails.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/signals.h"
#include "supervise/status_board.h"

namespace dtrain {

// The program that this process runs, even when its file was replaced or removed meanwhile.
inline constexpr const char* kOwnProgram = "/proc/self/exe";

struct ReplicaProcess {
  std::vector<std::string> arguments;              // argv; [0] is the program's path
  std::map<std::string, std::string> environment;  // added to (or replacing in) this process's
  std::filesystem::path log;                       // takes stdout and stderr; created, truncated
  std::string program = {};                        // what to execute when it is not arguments[0]
  std::string name = {};                           // for messages; "rank N" when empty
  bool expendable = false;                         // the others go on when this one fails
  int restarts = 0;                                // how often it is started again then
};

// An expendable process has failed, and why, in one line; the job goes on.
struct LostReplica {
  int rank = 0;
  std::string reason = {};
  int restart = 0;  // how often it has been started again, this time included; 0: it is not
};

// How sure it is who failed first: peers of a dead replica fail too and blame each other.
// kToldToStop: others, who know more, told it to stop; kFailedItself: or it got the stop signal itself.
enum class Evidence { kBlamesPeers, kWasSilent, kToldToStop, kFailedItself };

struct SuperviseResult {
  ExitCode code = ExitCode::kDone;
  int first_failing_rank = -1;  // -1: none
  std::string message;  // for people: what failed first, where everyone was, the log's path; empty when done
  int stop_signal = 0;  // the one that stopped the job, where it came here
  std::string reason = {};  // the line of `message` that says what failed first
  Evidence evidence = Evidence::kBlamesPeers;
  int64_t step = 0;        // at which the replica that failed first was; 0: before the first, or not known
  std::string cause = {};  // what was wrong with it, in one line; empty: `reason` says all
};

struct SuperviseOptions {
  // One line of JSON that a replica wrote to its report descriptor, without the newline. Not checked: a
  // replica that was killed leaves half a line, and in place of one over kMaxReportLine comes
  // {"event":"report_dropped","bytes":N}.
  std::function<void(int rank, const std::string& line)> on_report;
  // Called about ten times a second between reports (a progress bar redraws itself).
  std::function<void()> on_tick;
  // How long the others get to end by themselves after the first failure, then after SIGTERM, before SIGKILL,
  // which comes at once to those that a signal has stopped.
  double gather_seconds = 0.5;
  double grace_seconds = 2.0;
  // How long they get to end by themselves after a stop signal, which they receive too, before SIGKILL.
  double stop_seconds = grace_seconds;
  // The stop signals that were dealt with already (core/signals.h): a later one stops the job, even one that
  // came just before supervise() was called.
  int stop_signals_before = stop_signals_received();
  // Called at SIGQUIT with what every process is doing, as lines for people; processes that live get SIGQUIT,
  // too.
  std::function<void(const std::string& text)> on_status = {};
  // Its rank is that in the job.
  std::function<void(const LostReplica& lost)> on_lost = {};
  // Asked as often: what it returns ends the job, because of something outside this host. It is the result
  // unless there is evidence as good that it was a replica here: one that failed, or, when those elsewhere
  // just lost a peer, one that was silent.
  std::function<std::optional<SuperviseResult>()> interrupted = {};
  int first_rank = 0;     // of the first process: where the job has other hosts
  std::string host = {};  // this one's name, for messages; "" when there is no other
};

// The end of a run that a stop signal has stopped; `host`: where it came to, "" where there is no other.
SuperviseResult stopped_by_signal(int signal, const std::string& host);

// A replica ends its life with a report {"event":"failed","code":N,"message":"..."} when it can. The
// descriptor for reports is in the environment as DTRAIN_REPORT_FD, the board's as DTRAIN_BOARD_FD.
//
// Blocks until every process has ended and been reaped. When one fails (a non-zero exit or a signal) that is
// not expendable, the rest are ended within gather_seconds + grace_seconds; the first failing rank is the
// first that was killed by a signal or failed with something other than kPeerLost, for peers of a dead
// replica blame each other; when all say kPeerLost (a timeout), it is the one that does not, of several one
// that the board shows outside communication. A stop signal (core/signals.h flags) stops the job: SIGTERM to
// all, SIGKILL after stop_seconds or at a second signal. Expendable ones that still run when all others have
// ended get grace_seconds to follow, and gather_seconds when a signal has stopped them. One that a parameter
// server gives up (supervise/diagnosis.h) is ended like one that fails; when it is not expendable, the job
// fails. One that is started again finds in DTRAIN_RESTART for which time, and has a log of its own
// ("worker1.log", "worker1.restart1.log"). Children get PR_SET_PDEATHSIG=SIGKILL and a process group of their
// own, so that Ctrl-C reaches only the supervisor. The kernel ties them to the *thread* that called this,
// which must last as long as the job: it does, for it is blocked here. A replica's group ends with it;
// nothing of the job is left when this returns or throws. Throws Error when a process cannot be started
// (after ending those that were): kUsage or kDisk names the log or program that cannot be opened, kMemory
// says that there is no room for a process. What a callback throws passes through.
//
// SIGUSR1 goes on to the first process, once the board shows that it has started: what one replica decides,
// all do. SIGQUIT goes on to all. Processes begin with both ignored.
SuperviseResult supervise(const std::vector<ReplicaProcess>& processes, const StatusBoard& board,
                          const SuperviseOptions& options);

}  // namespace dtrain
