// The terminal's text for single events: the banner of a run, the rows of its epochs, and others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "metrics/events.h"
#include "spec/spec.h"

namespace dtrain {

struct ConsoleOptions {
  bool is_terminal = false;  // show a progress line, redrawn in place with escape codes
  bool colour = false;       // see shows_colour() in core/terminal.h
  bool quiet = false;  // print only failures, warnings, the note about a fallback dataset, and the comparison
  bool json = false;   // print only events, one line of JSON each; takes precedence over quiet
  int width = 80;      // columns of the terminal; without one, lines are not broken
  bool alone = false;  // the job is one run on one device: texts do not mention distribution
  BestCheckpointSpec best{"loss"};  // decides which epoch is the best
  // Whether the weights of that epoch, after this step of the distributed run, could have been saved and are
  // not there; empty: nobody knows.
  std::function<bool(int64_t)> is_lost = {};
  std::function<bool()> has_room = [] { return true; };  // on the terminal, to draw progress without waiting
  std::function<double()> clock = steady_seconds;
};

// The lines of text for a run_start event.
std::string start_banner(const RunStartEvent& start, const ConsoleOptions& options);

// A note for each fallback: a dataset in place of the one asked for, mirrored in place of tpu. Empty: none.
std::string fallback_notes(const RunStartEvent& start, const ConsoleOptions& options);

// "PHASE 1 of 2 (head): trains 5,130 of 11,181,642 parameters, learning rate 0.001 (no scaling)"
std::string phase_line(const PhaseEvent& event);

// An `inspect` event as a table: what each replica contributed to the step, the result, and the verdict.
std::string inspection_table(const InspectEvent& inspection);

// The table of a run: one line for each epoch, with training and evaluation side by side.
struct EpochRow {
  std::optional<int64_t> epoch = {};  // counted from 1
  int64_t epochs = 0;                 // of the run
  MetricValues training = {};
  MetricValues evaluation = {};  // empty: there was none after this epoch
  std::optional<double> examples_per_second = {};
  std::optional<double> seconds = {};  // of training and evaluation
  bool is_best = false;                // no evaluation of the run so far was better
};

// On a narrower terminal the table has neither speed nor time: 55 columns.
constexpr int kEpochTableWidth = 79;  // columns

// The two lines above the rows. `evaluated`: what the evaluations are of ("test"); `metric`: what is shown
// besides the loss ("accuracy"); `best_by`: the metric that decides which epochs are marked, "": none is. Of
// the table for a terminal of `width` columns.
std::string epoch_heading(const std::string& evaluated, const std::string& metric, const std::string& best_by,
                          int width);

// Lines are wider only where numbers are very long. `green` marks the best epoch with a colour too.
std::string epoch_line(const EpochRow& row, const std::string& main, bool green, int width);

// The time that a run takes for its steps since the first that was seen: with its evaluations, without the
// steps that a resumed run did earlier.
class Pace {
 public:
  void see(int64_t step, double seconds);
  // Seconds until `total` steps are made, when `step` are; nullopt before a second step was seen.
  std::optional<double> seconds_left(int64_t step, int64_t total) const;

 private:
  int64_t first_step_ = -1, last_step_ = -1;
  double first_at_ = 0, last_at_ = 0;
};

// The line that shows the progress of training.
struct Progress {
  std::string run;  // baseline | distributed | training | overhead
  int64_t epoch = 0;
  int64_t epochs = 0;  // 0: the work has no epochs
  int64_t step = 0;    // within the run, like total_steps
  int64_t total_steps = 0;
  bool epoch_is_over = false;  // its steps are made: it is evaluated now, and saved
  std::optional<double> loss;
  std::string metric = "accuracy";  // the name of `value`
  std::optional<double> value;
  std::optional<double> examples_per_second;
  std::optional<double> seconds_left;
};

// At most width - 1 columns, because many terminals wrap after the last one. All ASCII, except what `run`
// contains. Parts that do not fit are left out, the least important first: run, metric, examples/s, time
// left, loss (or that it is evaluating), bar, step, epoch.
std::string progress_line(const Progress& progress, int width);

}  // namespace dtrain
