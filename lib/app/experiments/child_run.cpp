#include "experiments/child_run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "core/exit_codes.h"
#include "core/signals.h"
#include "metrics/events.h"
#include "processes/supervisor.h"

namespace dtrain {
namespace {

// The first line of what the last run_end of the events in `metrics` reports. A run that could not begin has
// said so in its log alone.
std::string reason_of_failure(const std::filesystem::path& metrics, const std::filesystem::path& log) {
  std::ifstream events(metrics), lines(log);
  std::string reason;
  for (std::string line; std::getline(events, line);) {
    const auto end = decode<RunEndEvent>(Event::parse(line, nullptr, /*allow_exceptions=*/false));
    if (end) reason = end->error.value_or("");
  }
  reason = reason.substr(0, reason.find('\n'));
  for (std::string line; reason.empty() && std::getline(lines, line);) {
    if (line.rfind("NOTE: ", 0) != 0 && line.rfind("WARNING: ", 0) != 0) reason = line;
  }
  return reason.empty() ? "it did not say why; see " + log.string() : reason;
}

}  // namespace

ChildRun::ChildRun(const std::vector<std::string>& arguments, std::filesystem::path folder,
                   std::filesystem::path log)
    : folder_(std::move(folder)), log_(std::move(log)) {
  ReplicaProcess child;
  child.arguments = {"dtrain", "run"};
  child.arguments.insert(child.arguments.end(), arguments.begin(), arguments.end());
  child.arguments.emplace_back("--quiet");
  child.program = kOwnProgram;
  child.log = log_;
  const Descriptor no_board(::open("/dev/null", O_RDWR | O_CLOEXEC));
  process_ = std::make_unique<Process>(child, no_board.get());
}

std::optional<ChildRunEnd> ChildRun::ended() {
  const std::optional<ProcessEnd> end = process_->ended();
  if (!end) return std::nullopt;
  process_->reap();
  if (end->signal != 0)
    return ChildRunEnd{ExitCode::kPeerLost,
                       fmt::format("its process was ended by {}", signal_name(end->signal))};
  if (end->exit_code == 0) return ChildRunEnd{};
  return ChildRunEnd{to_exit_code(end->exit_code), reason_of_failure(folder_ / "metrics.jsonl", log_)};
}

ChildRunEnd run_until(const std::function<std::unique_ptr<ChildRun>()>& start,
                      const std::function<bool()>& is_over) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  const ReapingScope reaping;
  const std::unique_ptr<ChildRun> child = start();
  bool over = false, stopped = false;
  std::optional<ChildRunEnd> end;
  while (!end) {
    end = child->ended();  // before asking, so that nothing is missed
    over = over || is_over();
    const bool signalled = stop_signals_received() > signals_before;
    // The rest, and the evaluation at its end, would tell nothing.
    if (!end && !stopped && (over || signalled)) {
      child->tell(SIGTERM);
      stopped = true;
    }
    if (!end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (over) return {};
  if (stopped) return {ExitCode::kStopped, "stopped by a signal"};
  return *end;
}

}  // namespace dtrain
