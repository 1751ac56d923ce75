#include "tools/find_rate.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <thread>

#include "core/files.h"
#include "core/signals.h"
#include "metrics/events.h"
#include "spec/print.h"
#include "tools/child_run.h"

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

}  // namespace

JobSpec rate_test_job(JobSpec job, const RateTest& test) {
  job.train.max_steps = test.steps;
  job.train.learning_rate_scaling.warmup_steps = 0;
  ScheduleSpec schedule;
  schedule.kind = "piecewise";
  schedule.unit = "steps";
  schedule.values = rates_of(test);
  for (int64_t step = 1; step < test.steps; ++step) schedule.boundaries.push_back(step);
  if (job.phases.empty()) {
    job.train.epochs = kMostEpochs;
    job.train.schedule = schedule;
  } else {  // the first one is tested
    job.phases.resize(1);
    PhaseSpec& phase = job.phases.front();
    phase.epochs.reset();
    phase.steps = test.steps;
    phase.learning_rate.reset();
    phase.schedule = schedule;
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

void run_rate_test(const JobSpec& job, const std::filesystem::path& folder, RateTest& test) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  const ReapingScope reaping;
  const std::filesystem::path spec = folder / "job.yaml", run = folder / "run";
  write_file_atomically(spec, print_spec(rate_test_job(job, test)));
  ChildRun child({spec.string(), "--run-dir", run.string()}, run, folder / "run.log");
  LossReader losses(run / "metrics.jsonl");
  bool over = false, stopped = false;
  std::optional<ChildRunEnd> end;
  while (!end) {
    end = child.ended();  // before reading, so that nothing is missed
    for (const double loss : losses.read()) over = over || add_loss(test, loss);
    const bool signalled = stop_signals_received() > signals_before;
    // The rest, and the evaluation at its end, would tell nothing.
    if (!end && !stopped && (over || signalled)) {
      child.tell(SIGTERM);
      stopped = true;
    }
    if (!end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (over || stopped) return;
  if (end->code == ExitCode::kDiverged && !test.points.empty()) {
    add_loss(test, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (end->code == ExitCode::kDone) throw Error(ExitCode::kBug, "the run ended before its last step");
  throw Error(end->code, end->reason);
}

}  // namespace dtrain
