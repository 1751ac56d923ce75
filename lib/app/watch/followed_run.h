// A run's folder, read while the run writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "display/console_text.h"
#include "metrics/events.h"
#include "processes/status_board.h"
#include "runs/finished_run.h"

namespace dtrain {

// Points in order of x, in bounded memory: when there are too many, neighbours become their mean.
class Curve {
 public:
  void add(double x, double y);  // leaves a y that is not finite out
  const std::vector<std::pair<double, double>>& points() const { return points_; }
  // A value for each of `count` equal parts of the axis from 0 to `end`, as text_plot() takes them: the mean
  // of the points in it; without any that between its neighbours if `joined`, else NaN.
  std::vector<double> sampled(double end, size_t count, bool joined) const;

 private:
  std::vector<std::pair<double, double>> points_;
  int64_t group_ = 1;    // values in a point
  int64_t in_last_ = 1;  // those in the last one so far
};

// Curves by metric.
using Curves = std::map<std::string, Curve>;

// What the events say so far of the run of the job that began last: the baseline or the distributed one.
struct RunState {
  RunStartEvent start;             // has no `run` before the first
  std::optional<RunEndEvent> end;  // of this run
  std::string verdict;             // of the comparison
  int64_t epoch = 0, step = 0;
  bool is_evaluating = false;
  std::string metric = "loss";     // the main one
  std::string part = kTestPart;    // of `evaluation`
  std::string during = kTestPart;  // the part that is evaluated while it trains: of the curves and the best
  MetricValues training, evaluation;   // the last ones
  BestCheckpointSpec best_by{"loss"};  // the run's deciding_metric()
  std::optional<EvaluationPoint> best;
  Curves training_curves, evaluation_curves;  // the loss and the main metric, over steps
  StepSpeed speed;
  std::optional<double> learning_rate;
  Pace pace;
  std::optional<MachineEvent> machine;
  bool is_measured = false;  // by the supervisor that runs it now
  DeviceUse device;
  std::string note;  // the last warning, restart or loss of a worker

  void take(const Event& event);
};

// A run as it is shown.
struct WatchedRun {
  std::string path = {};  // as the user named it
  RunState state = {};
  // starting, running, completed, failed, stopped; interrupted: it was killed, for no dtrain has its folder,
  // or has been silent for long, if it may be on another host.
  std::string status = {};
  std::string hint = {};  // what to do about an end that is none
  double read = 1;        // the part of the events that was read
  bool reads = false;     // the last look has read some events: the next will, too
  std::vector<ReplicaStatus> replicas =
      {};          // by rank; empty: they are not on this host, or there are none now
  double now = 0;  // steady_seconds(), for these

  bool is_going_on() const { return status == "starting" || status == "running"; }
  std::optional<double> seconds_left() const;
  int64_t step() const;  // of the replicas, which are ahead of the events
};

// Only reads, and holds no more than the curves and the last line.
class FollowedRun {
 public:
  // Throws Error(kUsage) if `folder` holds no run.
  explicit FollowedRun(std::filesystem::path folder);

  // Reads at most `bytes` of what was added to the events since the last call. A file that was replaced, or
  // cut back, is read from its beginning. Throws Error(kUsage, kDisk) if it cannot be read.
  WatchedRun look(int64_t bytes = INT64_MAX);

 private:
  bool read(int64_t bytes);  // whether it has read something
  void take_lines(std::string_view text);

  std::filesystem::path folder_;
  Descriptor file_;
  uint64_t device_ = 0, inode_ = 0;  // of the file, which is closed when the run has ended
  int64_t modified_ = 0;
  int64_t size_ = 0, offset_ = 0;
  std::string rest_;    // the last line, of which the end is missing
  bool skips_ = false;  // the line is no event: it is too long
  double changed_at_ = 0;
  RunState state_;
};

}  // namespace dtrain
