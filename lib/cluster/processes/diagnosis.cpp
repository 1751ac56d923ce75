#include "processes/diagnosis.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/descriptor.h"
#include "core/exit_codes.h"
#include "core/signals.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kLogTailBytes = 4096;
constexpr size_t kMaxMessageBytes = 4096;
constexpr size_t kMaxLines = 5;        // at most, of the end of a log or of an error's message
constexpr size_t kMaxLineBytes = 500;  // of each line, as shown
constexpr int kMaxOthers = 8;          // at most, of the other replicas that are described

// Why one replica failed. `own` is false if it only complains about its peers.
struct Cause {
  ExitCode code = ExitCode::kPeerLost;
  std::string text;
  bool own = false;
};

// Either a fault of the program, or someone else (the kernel, a user) ended the replica.
ExitCode signal_exit_code(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
      return ExitCode::kBug;
    default:
      return ExitCode::kPeerLost;
  }
}

// "at step 120 while computing"
std::string during(const ReplicaStatus& status) {
  const char* const activity = activity_name(status.activity);
  return status.step > 0 ? fmt::format("at step {} while {}", status.step, activity)
                         : fmt::format("while {}", activity);
}

// The first or last lines of the text, at most kMaxLines of them, made safe for a terminal.
std::vector<std::string> shown_lines(const std::string& text, bool last) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(printable(text.substr(begin, end - begin), kMaxLineBytes));
    begin = end + 1;
  }
  if (lines.size() > kMaxLines) {
    const auto excess = static_cast<std::ptrdiff_t>(lines.size() - kMaxLines);
    last ? lines.erase(lines.begin(), lines.begin() + excess)
         : lines.erase(lines.end() - excess, lines.end());
  }
  return lines;
}

std::vector<std::string> log_tail(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(std::min(static_cast<size_t>(status.st_size), kLogTailBytes), '\0');
  const ssize_t got =
      ::pread(file.get(), text.data(), text.size(), status.st_size - static_cast<off_t>(text.size()));
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return shown_lines(text, true);
}

// Nothing tells who sent a SIGKILL, but the kernel counts the processes that it killed for lack of memory.
Cause out_of_memory(const ReplicaOutcome& outcome, const std::string& where) {
  const int64_t kills = outcome.out_of_memory_kills;
  return {
      ExitCode::kMemory,
      fmt::format("killed by SIGKILL {}, probably by the kernel, which has ended {} process{} for lack of "
                  "memory since the job began; use a smaller batch.per_replica with "
                  "batch.accumulate_steps, fewer replicas, or a smaller model (dtrain plan shows the "
                  "numbers)",
                  where, kills, kills == 1 ? "" : "es"),
      true};
}

Cause cause_of(const ReplicaOutcome& outcome) {
  if (outcome.report) {
    const auto lines = shown_lines(outcome.report->message, false);
    return {outcome.report->code, lines.empty() ? "it did not say why" : join(lines, "\n    "),
            outcome.report->code != ExitCode::kPeerLost && outcome.report->code != ExitCode::kStopped};
  }
  const ProcessEnd end = outcome.end.value_or(ProcessEnd{});  // it has ended, as there is no report
  const std::string where = during(outcome.status);
  if (outcome.given_up && !outcome.end)
    return {ExitCode::kPeerLost, fmt::format("{}, {}; dtrain ended it", *outcome.given_up, where), true};
  if (end.signal == SIGKILL && outcome.out_of_memory_kills > 0) return out_of_memory(outcome, where);
  if (end.signal != 0)
    return {signal_exit_code(end.signal), fmt::format("killed by {} {}", signal_name(end.signal), where),
            true};
  const ExitCode code = to_exit_code(end.exit_code);
  return {code, fmt::format("exited with code {} {}", end.exit_code, where), code != ExitCode::kPeerLost};
}

bool waits_for_peers(const ReplicaStatus& status) {
  return status.activity == Activity::kCommunicating || status.activity == Activity::kConnecting;
}

// When all failed replicas only missed a peer, the culprit is one of those that did not complain. Prefers one
// that was not waiting for peers, or was in an earlier step: a replica that hangs while it is itself waiting
// for others is noticeable only by its silence. Returns -1 if all complained.
int missing_rank(const std::vector<ReplicaOutcome>& outcomes, const std::vector<int>& failed) {
  const auto order = [&](int rank) {
    const ReplicaStatus& status = outcomes[static_cast<size_t>(rank)].status;
    return std::make_tuple(waits_for_peers(status), status.step, status.since);
  };
  int missing = -1;
  for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    if (std::ranges::find(failed, rank) != failed.end()) continue;
    if (missing < 0 || order(rank) < order(missing)) missing = rank;
  }
  return missing;
}

// One line for each replica except `root`.
std::vector<std::string> describe_others(const std::vector<ReplicaOutcome>& outcomes,
                                         const std::vector<int>& failed, int root, double now,
                                         int first_rank) {
  std::vector<std::string> lines;
  const int replicas = static_cast<int>(outcomes.size());
  for (int rank = 0; rank < replicas; ++rank) {
    if (rank == root) continue;
    if (static_cast<int>(lines.size()) == kMaxOthers) {
      lines.push_back(fmt::format("and {} more replicas", replicas - 1 - kMaxOthers));
      break;
    }
    const ReplicaOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    std::string line =
        fmt::format("{}: {}", name_of(outcome, first_rank + rank), describe_status(outcome.status, now));
    if (std::ranges::find(failed, rank) != failed.end()) line += "; then: " + cause_of(outcome).text;
    lines.push_back(line);
  }
  return lines;
}

// If replicas left only because the job was told to stop (and others only missed them), nothing failed:
// returns that result. nullopt if no replica left for that reason. A replica that got no signal itself was
// told to stop by the others.
std::optional<SuperviseResult> explain_stop(const std::vector<ReplicaOutcome>& outcomes,
                                            const std::vector<int>& failed, const RanksOnHost& ranks) {
  std::optional<SuperviseResult> stop;
  for (const int rank : failed) {
    const ReplicaOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    if (!outcome.report || outcome.report->code != ExitCode::kStopped) continue;
    if (stop && outcome.report->stop_signal == 0) continue;
    stop.emplace();
    stop->code = ExitCode::kStopped;
    stop->stop_signal = outcome.report->stop_signal;
    stop->message = stop->stop_signal == 0
                        ? stop_text(0, "", "")
                        : stop_text(stop->stop_signal, name_of(outcome, ranks.first + rank), ranks.host);
    stop->reason = "stopped";
    stop->evidence = stop->stop_signal == 0 ? Evidence::kToldToStop : Evidence::kFailedItself;
    if (stop->stop_signal != 0) break;
  }
  return stop;
}

}  // namespace

std::optional<FailedReport> parse_failed_report(const std::string& line) {
  if (line.find("\"failed\"") == std::string::npos)
    return std::nullopt;  // most lines are steps: do not parse those twice
  const auto report = nlohmann::json::parse(line, nullptr, false);
  if (!report.is_object()) return std::nullopt;
  const auto event = report.find("event");
  if (event == report.end() || *event != "failed") return std::nullopt;
  FailedReport failed;
  if (const auto code = report.find("code"); code != report.end() && code->is_number_integer()) {
    const auto number = code->get<int64_t>();
    failed.code = number >= 0 && number <= 255 ? to_exit_code(static_cast<int>(number)) : ExitCode::kBug;
  }
  if (const auto signal = report.find("signal"); signal != report.end() && signal->is_number_integer()) {
    const auto number = signal->get<int64_t>();
    failed.stop_signal = number > 0 && number < NSIG ? static_cast<int>(number) : 0;
  }
  if (const auto message = report.find("message"); message != report.end() && message->is_string())
    failed.message = message->get_ref<const std::string&>().substr(0, kMaxMessageBytes);
  return failed;
}

std::optional<GivenUpReport> parse_given_up_report(const std::string& line) {
  if (line.find("\"worker_given_up\"") == std::string::npos) return std::nullopt;
  try {
    const auto report = nlohmann::json::parse(line);
    if (report.at("event") != "worker_given_up") return std::nullopt;
    return GivenUpReport{report.at("rank").get<int>(), report.at("restart").get<int>(),
                         printable(report.at("message").get<std::string>(), kMaxLineBytes)};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string name_of(const ReplicaOutcome& outcome, int rank) {
  return outcome.name.empty() ? fmt::format("rank {}", rank) : outcome.name;
}

std::string stop_text(int signal, const std::string& replica, const std::string& host) {
  std::string text = "stopped";
  if (signal != 0) text += " by " + signal_name(signal);
  if (!replica.empty()) text += " sent to " + replica;
  return host.empty() ? text : text + " on host " + host;
}

std::string failure_text(const ReplicaOutcome& outcome) {
  const std::string text = cause_of(outcome).text;
  return text.substr(0, text.find('\n'));
}

SuperviseResult explain_failure(const std::vector<ReplicaOutcome>& outcomes, const std::vector<int>& failed,
                                double now, const RanksOnHost& ranks) {
  SuperviseResult result;
  const auto outcome_of = [&](int rank) -> const ReplicaOutcome& {
    return outcomes[static_cast<size_t>(rank)];
  };
  const auto own = std::ranges::find_if(failed, [&](int rank) { return cause_of(outcome_of(rank)).own; });
  if (own == failed.end()) {
    if (const auto stop = explain_stop(outcomes, failed, ranks)) return *stop;
  }
  const int missing = own == failed.end() ? missing_rank(outcomes, failed) : -1;
  const int root = own != failed.end() ? *own : missing >= 0 ? missing : failed.front();
  const ReplicaOutcome& outcome = outcome_of(root);
  const Cause cause =
      missing < 0
          ? cause_of(outcome)
          : Cause{ExitCode::kPeerLost,
                  fmt::format("it did not answer, and was {}", describe_status(outcome.status, now)), false};

  const int rank = ranks.first + root;
  std::vector<std::string> lines = describe_others(outcomes, failed, root, now, ranks.first);
  if (!outcome.report) {
    if (const auto tail = log_tail(outcome.log); !tail.empty())
      lines.push_back(fmt::format("the end of {}'s log:\n  {}", name_of(outcome, rank), join(tail, "\n  ")));
  }
  const bool named = !ranks.host.empty();
  // All replicas detect a disagreement together, and their message names the culprit.
  result.reason = cause.code == ExitCode::kDisagree
                      ? cause.text
                      : fmt::format("{}{}{} failed first: {}", name_of(outcome, rank),
                                    named ? " on host " : "", ranks.host, cause.text);
  lines.push_back(result.reason);
  lines.push_back(fmt::format("  log: {}{}{}", ranks.host, named ? ":" : "", outcome.log.string()));
  result.code = cause.code;
  result.evidence = cause.own      ? Evidence::kFailedItself
                    : missing >= 0 ? Evidence::kWasSilent
                                   : Evidence::kBlamesPeers;
  result.first_failing_rank = rank;
  result.step = outcome.status.step;
  result.cause = cause.text.substr(0, cause.text.find('\n'));
  result.message = join(lines, "\n");
  return result;
}

}  // namespace dtrain
