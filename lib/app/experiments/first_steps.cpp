#include "experiments/first_steps.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/signals.h"
#include "metrics/events.h"
#include "spec/print.h"

namespace dtrain {
namespace {

constexpr int64_t kMostEpochs = 1'000'000;  // the number of steps ends the run

// The losses that were added to metrics.jsonl since the last call.
class LossReader {
 public:
  explicit LossReader(std::filesystem::path metrics) : metrics_(std::move(metrics)) {}

  std::vector<double> read() {
    std::ifstream file(metrics_);
    file.seekg(read_);
    std::vector<double> losses;
    for (std::string line; std::getline(file, line) && !file.eof();) {  // not the one that is being written
      read_ += static_cast<std::streamoff>(line.size() + 1);
      const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
      const auto step = decode<StepEvent>(event);
      if (step) losses.push_back(find_metric(step->metrics, "loss").value_or(std::nan("")));
    }
    return losses;
  }

 private:
  std::filesystem::path metrics_;
  std::streamoff read_ = 0;
};

// While this exists, processes that are started inherit a limit of the memory that they have for themselves.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::optional<int64_t> bytes) {
    ::getrlimit(RLIMIT_DATA, &before_);
    rlimit limit = before_;
    if (bytes) limit.rlim_cur = std::min(before_.rlim_cur, static_cast<rlim_t>(*bytes));
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

std::unique_ptr<ChildRun> start(const JobSpec& job, const std::filesystem::path& folder,
                                std::optional<int64_t> memory) {
  const std::filesystem::path spec = folder / "job.yaml", run = folder / "run";
  write_file_atomically(spec, print_spec(job));
  const MemoryLimit limit(memory);
  return std::make_unique<ChildRun>(std::vector<std::string>{spec.string(), "--run-dir", run.string()}, run,
                                    folder / "run.log");
}

}  // namespace

JobSpec first_steps(JobSpec job, int64_t steps) {
  job.train.max_steps = steps;
  if (job.phases.empty()) {
    job.train.epochs = kMostEpochs;
  } else {
    job.phases.resize(1);
    job.phases.front().epochs.reset();
    job.phases.front().steps = steps;
  }
  job.compare.baseline = "none";
  job.evaluate.every_epochs = kMostEpochs;
  job.checkpoint = {};
  job.checkpoint.final = false;
  job.restarts.max = 0;
  job.callbacks = {};
  job.metrics = {};
  job.metrics.every_steps = 1;
  job.metrics.skip_steps = 0;
  return job;
}

ChildRunEnd train_first_steps(const JobSpec& job, const std::filesystem::path& folder, const OnStep& on_step,
                              std::optional<int64_t> memory) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  const ReapingScope reaping;
  const std::unique_ptr<ChildRun> child = start(job, folder, memory);
  LossReader losses(folder / "run" / "metrics.jsonl");
  bool over = false, stopped = false;
  std::optional<ChildRunEnd> end;
  while (!end) {
    end = child->ended();  // before reading, so that nothing is missed
    for (const double loss : losses.read()) over = over || on_step(loss);
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
