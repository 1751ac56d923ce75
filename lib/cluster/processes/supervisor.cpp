#include "processes/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "core/clock.h"
#include "host/host_memory.h"
#include "processes/diagnosis.h"
#include "processes/process.h"
#include "processes/report.h"

namespace dtrain {
namespace {

constexpr double kTickSeconds = 0.1;
constexpr double kOneStopSeconds = 1;

enum class Stage {
  kRunning,
  kGathering,    // one failed; waits for the others' ends and reports, which may tell why
  kTerminating,  // SIGTERM was sent
  kKilling,      // SIGKILL was sent
};

struct Replica {
  const ReplicaProcess* plan;
  std::unique_ptr<Process> process;  // nullptr once it has ended and was reaped
  ReportLines lines;
  ReplicaOutcome outcome;
  int restarts = 0;      // so far
  bool returns = false;  // will be started again once it has ended
  bool killed = false;   // by end()
  bool is_stopped() const { return process && process->is_stopped(); }
};

// The process to start for restart number `restart`.
ReplicaProcess restarted(ReplicaProcess process, int restart) {
  process.environment["DTRAIN_RESTART"] = std::to_string(restart);
  process.log.replace_extension(fmt::format(".restart{}{}", restart, process.log.extension().string()));
  return process;
}

// The loss of a replica that the others can do without: it failed, or it was given up and may still run.
struct Loss {
  int rank;
  double noticed;
  std::string given_up;  // why it was given up; "" if it failed
  bool told = false;
};

std::atomic<bool> terminal_stop = false;  // Ctrl-Z was pressed
extern "C" void note_terminal_stop(int) { terminal_stop = true; }

// While it exists, SIGTSTP (Ctrl-Z) does not stop this process at once, but when stop() is called.
class TerminalStops {
 public:
  TerminalStops() {
    ::sigaction(SIGTSTP, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN) catch_them();
  }
  ~TerminalStops() {
    ::sigaction(SIGTSTP, &before_, nullptr);
    if (terminal_stop.exchange(false)) std::raise(SIGTSTP);  // it came too late for stop()
  }

  // Stops this process until somebody continues it. Where nobody could (an orphaned process group), the
  // kernel does not.
  void stop() const {
    terminal_stop = false;
    ::sigaction(SIGTSTP, &before_, nullptr);
    std::raise(SIGTSTP);
    catch_them();
  }

 private:
  static void catch_them() {
    struct sigaction action {};
    action.sa_handler = note_terminal_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTSTP, &action, nullptr);
  }

  struct sigaction before_ {};
};

class Job {
 public:
  Job(const std::vector<ReplicaProcess>& processes, StatusBoard& board, const SuperviseOptions& options)
      : board_(board), options_(options) {
    for (const ReplicaProcess& process : processes) {
      const int rank = alive_++;  // its number on this host
      replicas_.push_back({&process,
                           std::make_unique<Process>(process, board.descriptor()),
                           lines_of(rank),
                           {std::nullopt, std::nullopt, {}, process.log, process.name}});
    }
  }

  SuperviseResult run() {
    while (alive_ > 0) {
      wait_for_events();
      if (terminal_stop) stop_all();
      for (size_t rank = 0; rank < replicas_.size(); ++rank) {
        Replica& replica = replicas_[rank];
        if (!replica.process) continue;
        read_reports(replica);
        if (const auto end = replica.process->ended()) take_end(static_cast<int>(rank), *end);
      }
      advance();
      pass_on_requests();
      tell_losses();
      end_leftovers();
      tick();
    }
    return result();
  }

 private:
  // Returns at a report, an end, a signal or the next tick, at which ends are noticed without pidfds.
  void wait_for_events() const {
    std::vector<pollfd> watched;
    for (const Replica& replica : replicas_) {
      if (!replica.process) continue;
      watched.push_back({replica.process->reports().get(), POLLIN, 0});  // poll() skips descriptor -1
      watched.push_back({replica.process->exit_descriptor(), POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(kTickSeconds * 1000));
  }

  // With this process, and until it goes on: a shell stops and continues this process only.
  void stop_all() {
    const double begin = steady_seconds();
    send_to_all(SIGSTOP);
    terminal_stops_.stop();
    send_to_all(SIGCONT);
    const double stopped = steady_seconds() - begin;
    deadline_ += stopped;
    if (needed_ended_ > 0) needed_ended_ += stopped;
    for (Loss& loss : losses_) loss.noticed += stopped;
  }

  void send_to_all(int signal) const {
    for (const Replica& replica : replicas_) {
      if (replica.process) replica.process->send(signal);
    }
  }

  ReportLines lines_of(int rank) {
    return ReportLines([this, rank](const std::string& line) { take_line(rank, line); });
  }

  void read_reports(Replica& replica) {
    const int reports = replica.process->reports().get();
    if (reports < 0) return;
    std::array<char, 65536> bytes;
    const ssize_t got = ::read(reports, bytes.data(), bytes.size());
    if (got > 0) {
      replica.lines.append({bytes.data(), static_cast<size_t>(got)});
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      replica.process->close_reports();  // the replica closed it; poll() would keep returning at once
    }
  }

  // Reads only what is already in a dead replica's pipe: a process that left its group could keep writing.
  void drain_reports(Replica& replica) {
    int left = 0;
    while (replica.process->reports().get() >= 0 &&
           ::ioctl(replica.process->reports().get(), FIONREAD, &left) == 0 && left > 0) {
      read_reports(replica);
    }
    replica.lines.finish();
  }

  void take_line(int rank, const std::string& line) {
    if (undisturbed()) {
      auto& report = replicas_[static_cast<size_t>(rank)].outcome.report;
      if (!report && (report = parse_failed_report(line))) note_failure(rank);
      if (const auto given_up = parse_given_up_report(line)) take_given_up(*given_up);
    }
    if (options_.on_report) options_.on_report(options_.first_rank + rank, line);
    board_.count_report(rank);
  }

  void take_end(int rank, const ProcessEnd& end) {
    Replica& replica = replicas_[static_cast<size_t>(rank)];
    replica.process->reap();
    drain_reports(replica);  // read its last report before judging the failure
    if (undisturbed()) {
      if (!replica.killed) replica.outcome.end = end;
      replica.outcome.out_of_memory_kills = out_of_memory_kills() - kills_before_;
      if (end.signal != 0 || end.exit_code != 0) note_failure(rank);
    }
    replica.process.reset();
    --alive_;
  }

  // Ignores a report about a process that was restarted since: it does not apply to the new process.
  void take_given_up(const GivenUpReport& report) {
    const int rank = report.rank - options_.first_rank;
    if (rank < 0 || rank >= static_cast<int>(replicas_.size())) return;  // on another host
    const Replica& replica = replicas_[static_cast<size_t>(rank)];
    if (replica.process && replica.restarts == report.restart) note_loss(rank, report.reason);
  }

  void note_failure(int rank) {
    if (replicas_[static_cast<size_t>(rank)].plan->expendable) return note_loss(rank);
    if (std::ranges::find(failed_, rank) != failed_.end()) return;
    failed_.push_back(rank);
    begin_gathering();
  }

  void begin_gathering() {
    if (stage_ != Stage::kRunning) return;
    first_failure_time_ = steady_seconds();
    for (size_t other = 0; other < replicas_.size(); ++other)
      replicas_[other].outcome.status = board_.get(static_cast<int>(other));
    enter(Stage::kGathering, options_.gather_seconds);
  }

  // The loss is reported later: one that another replica's failure caused does not deserve its own report.
  void note_loss(int rank, const std::string& given_up = "") {
    for (const Loss& loss : losses_) {
      if (loss.rank == rank) return;
    }
    ReplicaOutcome& outcome = replicas_[static_cast<size_t>(rank)].outcome;
    outcome.status = board_.get(rank);
    losses_.push_back({rank, steady_seconds(), given_up});
  }

  void tell_losses() {
    if (stage_ != Stage::kRunning) return;
    for (Loss& loss : losses_) {
      if (loss.told) continue;
      const bool has_time = alive_ > 0 && steady_seconds() - loss.noticed < options_.gather_seconds;
      if (!has_time || replicas_[static_cast<size_t>(loss.rank)].is_stopped()) settle(loss);
    }
    for (size_t rank = 0; rank < replicas_.size(); ++rank) {
      if (replicas_[rank].returns && !replicas_[rank].process) start_again(static_cast<int>(rank));
    }
  }

  void settle(Loss& loss) {
    loss.told = true;
    Replica& replica = replicas_[static_cast<size_t>(loss.rank)];
    if (replica.process) end(replica, loss.given_up);  // one that reported its failure but does not end
    if (!replica.plan->expendable) return;             // its end will end the job
    replica.returns = replica.restarts < replica.plan->restarts && !needed_have_ended();
    if (options_.on_lost)
      options_.on_lost({options_.first_rank + loss.rank, failure_text(replica.outcome),
                        replica.returns ? replica.restarts + 1 : 0});
  }

  // Kills one replica while the job continues.
  void end(Replica& replica, const std::string& reason) {
    replica.outcome.given_up = reason + (replica.is_stopped() ? " (a signal has stopped it)" : "");
    replica.killed = true;
    replica.process->send(SIGKILL);
  }

  // If there is no room for the process or its log, the others go on without it.
  void start_again(int rank) try {
    Replica& replica = replicas_[static_cast<size_t>(rank)];
    const ReplicaProcess process = restarted(*replica.plan, ++replica.restarts);
    board_.forget_reports(rank);
    replica.returns = replica.killed = false;
    replica.process = std::make_unique<Process>(process, board_.descriptor());
    replica.lines = lines_of(rank);
    replica.outcome = {std::nullopt, std::nullopt, {}, process.log, process.name};
    ++alive_;
    std::erase_if(losses_, [rank](const Loss& loss) { return loss.rank == rank; });
  } catch (const Error& error) {
    if (options_.on_lost)
      options_.on_lost(
          {options_.first_rank + rank, fmt::format("it cannot be started again: {}", error.what())});
  }

  // Whether all replicas that are not expendable have ended. False if all of them are on other hosts.
  bool needed_have_ended() const {
    bool had_any = false;
    for (const Replica& replica : replicas_) {
      if (replica.plan->expendable) continue;
      if (replica.process) return false;
      had_any = true;
    }
    return had_any;
  }

  bool nobody_can_say_more() const {
    return std::ranges::all_of(
        replicas_, [](const Replica& replica) { return !replica.process || replica.is_stopped(); });
  }

  // Ends expendable replicas when nobody is left to work with: those still running hang or are stopped.
  void end_leftovers() {
    if (stage_ != Stage::kRunning || !needed_have_ended()) return;
    const double now = steady_seconds();
    if (needed_ended_ == 0) needed_ended_ = now;
    for (Replica& replica : replicas_) {
      if (!replica.process || replica.killed) continue;
      const double patience = replica.is_stopped() ? options_.gather_seconds : options_.grace_seconds;
      if (now - needed_ended_ >= patience) end(replica, "it did not end with the others");
    }
  }

  void advance() {
    const int stops = stop_signals_received() - options_.stop_signals_before;
    if (stops > 0 && first_stop_ == 0) first_stop_ = steady_seconds();
    // Who ends a group of processes tells this one, and also a tune, which tells this one again.
    if (last_stop_signal() == SIGTERM && steady_seconds() - first_stop_ < kOneStopSeconds)
      of_one_stop_ = stops;
    const double end = deadline_ + (stop_signal_ == 0 && is_saving() ? options_.stop_seconds : 0);
    const bool late = steady_seconds() >= end || (stage_ == Stage::kGathering && nobody_can_say_more());
    const bool asked_to_stop = interruption_ && interruption_->code == ExitCode::kStopped;
    if ((stage_ == Stage::kRunning || asked_to_stop) && stops > 0) stop_signal_ = last_stop_signal();
    if (undisturbed() && (stops > 0 || (stage_ == Stage::kGathering && late))) {
      enter(Stage::kTerminating, stops > 0 ? options_.stop_seconds : options_.grace_seconds);
    } else if (stage_ == Stage::kTerminating && (stops > of_one_stop_ || late)) {
      enter(Stage::kKilling, 0);
    }
  }

  // Whether a replica is saving what is left after a loss.
  bool is_saving() const {
    for (size_t i = 0; i < replicas_.size(); ++i) {
      if (replicas_[i].process && board_.get(static_cast<int>(i)).activity == Activity::kSaving) return true;
    }
    return false;
  }

  void pass_on_requests() {
    const Replica& first = replicas_.front();
    if (save_requests_received() > saves_asked_ && stage_ == Stage::kRunning && first.process &&
        board_.get(0).activity != Activity::kStarting) {
      saves_asked_ = save_requests_received();
      first.process->tell(SIGUSR1);
    }
    if (status_requests_received() == statuses_asked_) return;
    statuses_asked_ = status_requests_received();
    if (options_.on_status) options_.on_status(describe_all());
    for (const Replica& replica : replicas_) {
      if (replica.process) replica.process->tell(SIGQUIT);
    }
  }

  std::string describe_all() const {
    const double now = steady_seconds();
    std::string text = "SIGQUIT: what the replicas are doing (their stacks are in their logs):";
    for (size_t i = 0; i < replicas_.size(); ++i) {
      const ReplicaOutcome& outcome = replicas_[i].outcome;
      text +=
          fmt::format("\n  {}: {}; log: {}", name_of(outcome, options_.first_rank + static_cast<int>(i)),
                      replicas_[i].process ? describe_status(board_.get(static_cast<int>(i)), now) : "ended",
                      outcome.log.string());
    }
    return text;
  }

  void tick() {
    if (steady_seconds() - last_tick_ < kTickSeconds) return;
    last_tick_ = steady_seconds();
    if (options_.on_tick) options_.on_tick();
    if (!options_.interrupted || interruption_) return;
    interruption_ = options_.interrupted();
    if (!interruption_ || stage_ != Stage::kRunning) return;
    if (interruption_->code == ExitCode::kStopped) {
      enter(Stage::kTerminating, options_.stop_seconds);  // as if the signal had arrived here
    } else {
      begin_gathering();
    }
  }

  void enter(Stage stage, double seconds) {
    stage_ = stage;
    deadline_ = steady_seconds() + seconds;
    if (undisturbed()) return;
    for (const Replica& replica : replicas_) {
      if (!replica.process) continue;
      const bool may_take_leave = stage == Stage::kTerminating && !replica.is_stopped();
      replica.process->send(may_take_leave ? SIGTERM : SIGKILL);
    }
  }

  SuperviseResult result() const {
    if (stop_signal_ != 0) return stopped_by_signal(stop_signal_, options_.host);
    SuperviseResult own;
    // A peer was lost on another host and no replica here complains, so the lost one may be here.
    const bool suspected = interruption_ && interruption_->code == ExitCode::kPeerLost &&
                           interruption_->evidence == Evidence::kBlamesPeers;
    if (!failed_.empty() || suspected) {
      std::vector<ReplicaOutcome> outcomes;
      for (const Replica& replica : replicas_) outcomes.push_back(replica.outcome);
      own = explain_failure(outcomes, failed_, first_failure_time_, {options_.first_rank, options_.host});
    }
    const bool is_own = own.code != ExitCode::kDone && own.evidence >= interruption_.value_or(own).evidence;
    return interruption_ && !is_own ? *interruption_ : own;
  }

  // Whether replicas still act by themselves, and not because the supervisor is ending them.
  bool undisturbed() const { return stage_ == Stage::kRunning || stage_ == Stage::kGathering; }

  const ReapingScope reaping_;  // must outlive the replicas
  const TerminalStops terminal_stops_;
  StatusBoard& board_;
  const SuperviseOptions& options_;
  const int64_t kills_before_ = out_of_memory_kills();
  std::vector<Replica> replicas_;
  int alive_ = 0;
  Stage stage_ = Stage::kRunning;
  double deadline_ = 0;  // of the current stage
  double last_tick_ = 0;
  std::vector<int> failed_;  // ranks, in the order in which the failures were noticed
  std::vector<Loss> losses_;
  double first_failure_time_ = 0;
  double needed_ended_ = 0;  // when needed_have_ended() first returned true
  int stop_signal_ = 0;
  double first_stop_ = 0;
  int of_one_stop_ = 1;  // signals that mean the same stop
  int saves_asked_ = save_requests_received();
  int statuses_asked_ = status_requests_received();
  std::optional<SuperviseResult> interruption_;
};

}  // namespace

SuperviseResult stopped_by_signal(int signal, const std::string& host) {
  SuperviseResult result;
  result.code = ExitCode::kStopped;
  result.message = stop_text(signal, "", host);
  result.stop_signal = signal;
  result.reason = "stopped";
  result.evidence = Evidence::kFailedItself;
  return result;
}

SuperviseResult supervise(const std::vector<ReplicaProcess>& processes, StatusBoard& board,
                          const SuperviseOptions& options) {
  if (board.replicas() < static_cast<int>(processes.size()))
    throw Error(ExitCode::kBug, "a status board of {} for {} replicas", board.replicas(), processes.size());
  return Job(processes, board, options).run();
}

}  // namespace dtrain
