// Shows events to a user: a banner, one line with fixed columns for each epoch and evaluation, a progress
// line, and the comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "display/progress_line.h"
#include "metrics/events.h"

namespace dtrain {

struct ConsoleOptions {
  bool is_terminal = false;  // show a progress line, redrawn in place with escape codes
  bool colour = false;       // on a terminal, unless NO_COLOR is set
  bool quiet = false;  // print only failures, warnings, the note about a fallback dataset, and the comparison
  bool json = false;   // print only events, one line of JSON each; takes precedence over quiet
  int width = 80;      // columns of the terminal
  std::function<double()> clock = steady_seconds;
};

// Writes to a stream and flushes it after every event. Ignores unknown events and fields, and shows missing
// ones as "-".
class Console : public EventSink {
 public:
  Console(std::ostream& out, ConsoleOptions options);
  ~Console() override;  // removes the progress line
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void on_event(const Event& event) override;
  void on_tick() override;
  // What a user can do after the job, in lines; only for people who read all the output.
  void on_job_end(const std::string& text);
  // Removes the progress line from the terminal, so that other code can write. The next tick redraws it.
  void clear_progress();

 private:
  // Calls the handler if the event is one of its kind.
  template <class T>
  void handle(const Event& event, void (Console::*handler)(const T&));
  void print(const std::string& text);
  void on_run_start(const RunStartEvent& event);
  void on_step(const StepEvent& event);
  void on_progress(const ProgressEvent& event);
  void on_epoch(const EpochEvent& event);
  void on_eval(const EvalEvent& event);
  void on_inspect(const InspectEvent& event);
  void on_worker_lost(const WorkerLostEvent& event);
  void on_restart(const RestartEvent& event);
  void on_run_end(const RunEndEvent& event);
  void on_comparison(const ComparisonEvent& event);
  void on_warning(const WarningEvent& event);
  void on_message(const MessageEvent& event);
  // A line of the table.
  struct Row {
    std::string phase;
    std::optional<int64_t> epoch;
    MetricValues metrics;
    StepSpeed speed;
    std::optional<double> seconds;
  };
  void print_row(const Row& row);
  std::string coloured(const char* code, const std::string& text) const;
  void follow(std::optional<int64_t> epoch, std::optional<int64_t> step);
  void draw_when_due();

  std::ostream& out_;
  const ConsoleOptions options_;
  Progress progress_;
  bool training_ = false;  // between run_start and run_end
  bool drawn_ = false;     // the progress line is on the terminal
  bool pending_ = false;   // the drawn line is older than progress_
  bool noted_ = false;     // when quiet: the note was shown
  bool restarted_ = false;
  std::optional<int64_t> replicas_;  // of the run that started last; nullopt before the first
  double drawn_at_ = 0;
  int64_t first_step_ = -1;  // the first step that was seen of the run, for the time left
  double first_step_at_ = 0;
};

}  // namespace dtrain
