// Shows events to a user: a banner, a line with fixed columns an epoch, a progress line, the comparison.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "display/console_text.h"
#include "runs/finished_run.h"

namespace dtrain {

// Writes to a stream and flushes it after every event. Ignores what is unknown; the missing is "-".
class Console : public EventSink {
 public:
  Console(std::ostream& out, ConsoleOptions options);
  ~Console() override;          // removes the progress line
  Console(Console&&) = delete;  // nor copied

  void on_event(const Event& event) override;
  void on_tick() override;
  // Prints the commands to run after the job; not with --quiet or --json.
  void on_job_end(const std::string& text);
  // Removes the progress line from the terminal, so that other code can write. The next tick redraws it.
  void clear_progress();
  // Takes an event of the run from before this process, without showing it: an epoch of it may be the best.
  void remember(const Event& event);
  // A run goes back to a checkpoint: no epoch is known any more.
  void forget();

 private:
  // Calls the handler of the event's kind.
  template <class... Known>
  void handle(const Event& event, void (Console::*... handlers)(const Known&));
  void print(const std::string& text);
  void on_run_start(const RunStartEvent& event);
  void on_step(const StepEvent& event);
  void on_progress(const ProgressEvent& event);
  void on_epoch(const EpochEvent& event);
  void on_phase(const PhaseEvent& event);
  void on_eval(const EvalEvent& event);
  void on_inspect(const InspectEvent& event);
  void on_overhead(const OverheadEvent& event);
  void on_worker_lost(const WorkerLostEvent& event);
  void on_restart(const RestartEvent& event);
  void on_run_end(const RunEndEvent& event);
  void on_comparison(const ComparisonEvent& event);
  void on_warning(const WarningEvent& event);
  void on_message(const MessageEvent& event);
  // Prints the line of the epoch that ended last, with its heading if it is the first one of the run.
  void print_row();
  std::string evaluation_lines(const RunEndEvent& event) const;
  // "distributed"; of a job with nothing to distribute "training"
  std::string title_of(const std::optional<std::string>& run) const;
  int table_width() const;  // columns that the table of epochs may take
  std::string in_lines(const std::string& text, int indent = 2) const;
  // The text after its title, which is yellow.
  std::string titled(const std::string& title, const std::optional<std::string>& text) const;
  std::string coloured(const char* code, const std::string& text) const;
  // Takes the position.
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
  std::optional<int64_t> replicas_;      // of the run that started last; nullopt before the first
  std::optional<int64_t> resumed_step_;  // of the same run; nullopt: it began anew
  std::optional<EpochRow> row_;          // of an epoch whose evaluation may follow
  bool headed_ = false;                  // the run's table has its heading
  std::string metric_;                   // that the table shows besides the loss
  std::string evaluated_ = "test";       // the part that is evaluated after epochs
  std::map<std::string, EvaluationSeries> evaluations_;  // by run
  double drawn_at_ = 0;
  Pace pace_;  // of the run, for the time left
};

}  // namespace dtrain
