#include "display/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/terminal.h"
#include "core/text.h"
#include "metrics/show.h"
#include "runs/comparison.h"

namespace dtrain {
namespace {

constexpr double kSecondsBetweenDrawings = 0.1;
constexpr size_t kTextLimit = 2000;
const char kClearLine[] = "\r\x1b[K";

std::string evaluation_line(const std::string& title, const MetricValues& metrics) {
  const auto loss = find_metric(metrics, "loss");
  if (!loss) return "";
  std::string line = fmt::format("  {}: loss {}", title, show_metric(loss));
  for (const auto& [name, value] : metrics) {
    if (name != "loss" && !metric_info(name).is_of_evaluations())
      line += fmt::format(", {} {}", name, show_metric(value));
  }
  return line + "\n";
}

// Of the same metrics; empty: there are none.
std::string intervals_line(const RunEndEvent& end) {
  std::string line;
  for (const auto& [name, value] : end.metrics) {
    const std::string interval = show_interval(end.intervals, name);
    if (interval.empty() || metric_info(name).is_of_evaluations()) continue;
    line += fmt::format("{} {} {}", line.empty() ? "  95 % intervals:" : ",", name, interval);
  }
  return line.empty() ? line : line + "\n";
}

// What each worker of parameter_server did; empty for strategies whose replicas work in step.
std::string workers_lines(const RunEndEvent& end) {
  if (!end.workers || !end.staleness) return "";
  std::string text = fmt::format("  staleness of updates: {:.2f} on average, {} at most\n",
                                 end.staleness->mean.value_or(0), show_count(end.staleness->maximum));
  size_t number = 0;
  for (const WorkerSummary& worker : *end.workers) {
    text += fmt::format("  worker {}: {} at {:.1f} a second{}{}\n", number++,
                        show_counted(worker.updates, "update"), worker.updates_per_second.value_or(0),
                        worker.straggler.value_or(false) ? ", a straggler" : "",
                        worker.lost.value_or(false) ? ", lost" : "");
  }
  return text;
}

}  // namespace

Console::Console(std::ostream& out, ConsoleOptions options) : out_(out), options_(std::move(options)) {}

Console::~Console() { clear_progress(); }

template <class... Known>
void Console::handle(const Event& event, void (Console::*... handlers)(const Known&)) {
  const auto try_one = [&]<class T>(void (Console::*handler)(const T&)) {
    if (const std::optional<T> known = decode<T>(event)) (this->*handler)(*known);
  };
  (try_one(handlers), ...);
}

void Console::on_event(const Event& event) {
  if (options_.json) {
    if (!decode<ProgressEvent>(event) && !decode<OverheadEvent>(event)) print(event_text(event) + "\n");
    return;
  }
  remember(event);
  handle(event, &Console::on_run_start, &Console::on_step, &Console::on_progress, &Console::on_epoch,
         &Console::on_phase, &Console::on_eval, &Console::on_inspect, &Console::on_overhead,
         &Console::on_worker_lost, &Console::on_restart, &Console::on_run_end, &Console::on_comparison,
         &Console::on_warning, &Console::on_message);
}

void Console::on_tick() {
  if (pending_) draw_when_due();
}

void Console::on_job_end(const std::string& text) {
  if (!options_.quiet && !options_.json) print(text);
}

void Console::clear_progress() {
  if (!drawn_) return;
  out_ << kClearLine << std::flush;
  drawn_ = false;
  pending_ = training_;
}

void Console::print(const std::string& text) {
  clear_progress();
  out_ << text << std::flush;
}

void Console::remember(const Event& event) {
  const std::string run = place_of(event).run.value_or("");
  const auto start = decode<RunStartEvent>(event);
  if (start && !start->resumed_step) evaluations_.erase(run);
  if (decode<EpochEvent>(event) || decode<EvalEvent>(event)) evaluations_[run].take(event);
}

void Console::forget() { evaluations_.clear(); }

void Console::on_run_start(const RunStartEvent& event) {
  progress_ = Progress();
  progress_.run = title_of(event.run);
  progress_.epochs = event.epochs.value_or(0);
  progress_.total_steps = event.total_steps.value_or(0);
  resumed_step_ = event.resumed_step;
  pace_ = Pace();
  training_ = true;
  headed_ = false;
  if (options_.quiet) {
    if (!noted_) print(fallback_notes(event, options_));
    noted_ = true;
    return;
  }
  const auto replicas = event.replicas;
  const bool is_known = restarted_ && replicas == replicas_;  // the banner was shown before the restart
  replicas_ = replicas;
  print((is_known ? "" : start_banner(event, options_)) + fmt::format("BEGIN {}\n", progress_.run));
}

void Console::on_step(const StepEvent& event) {
  print_row();
  progress_.loss = find_metric(event.metrics, "loss");
  progress_.metric = main_metric_of(event.metrics);
  progress_.value = find_metric(event.metrics, progress_.metric);
  progress_.examples_per_second = event.speed.examples_per_second;
  follow(event.epoch, event.step);
}

void Console::on_progress(const ProgressEvent& event) {
  print_row();
  follow(event.epoch, event.step);
}

// The evaluation may take long, and the line waits for it.
void Console::on_epoch(const EpochEvent& event) {
  print_row();
  row_ = EpochRow{.epoch = event.epoch,
                  .epochs = progress_.epochs,
                  .training = event.metrics,
                  .examples_per_second = event.speed.examples_per_second,
                  .seconds = event.seconds};
  progress_.epoch_is_over = true;
  pending_ = options_.is_terminal && !options_.quiet && training_;
  on_tick();
}

void Console::on_phase(const PhaseEvent& event) {
  print_row();
  if (!options_.quiet) print(in_lines(phase_line(event)) + "\n");
}

void Console::on_eval(const EvalEvent& event) {
  const EvaluationSeries& all = evaluations_[event.run.value_or("")];
  if (event.part == kTestPart && all.of_validation) return print_row();  // the end of the run tells it
  evaluated_ = event.part.value_or(kTestPart);
  if (!row_ || row_->epoch != event.epoch) {
    print_row();
    row_ = EpochRow{.epoch = event.epoch, .epochs = progress_.epochs};
  }
  row_->evaluation = event.metrics;
  if (event.seconds) row_->seconds = row_->seconds.value_or(0) + *event.seconds;
  row_->is_best =
      progress_.epochs > 1 && !all.points.empty() && all.best(options_.best) == &all.points.back();
  print_row();
}

void Console::print_row() {
  if (!row_) return;
  const EpochRow row = *std::exchange(row_, std::nullopt);
  progress_.epoch_is_over = false;
  if (options_.quiet) return;
  if (!headed_) {
    metric_ = main_metric_of(row.training.empty() ? row.evaluation : row.training);
    print(
        epoch_heading(evaluated_, metric_, progress_.epochs > 1 ? *options_.best.metric : "", table_width()));
  }
  print(epoch_line(row, metric_, options_.colour, table_width()));
  headed_ = true;
}

// Progress without steps in between: a line that says what is done, and a bar.
void Console::on_overhead(const OverheadEvent& event) {
  if (options_.quiet) return;
  if (event.step == event.steps) {
    clear_progress();
    training_ = pending_ = false;
    return;
  }
  if (event.step.value_or(0) == 0) {
    print(in_lines(
        fmt::format("measuring what the strategy adds to a step where there is nothing to distribute: "
                    "{} with it and as many without, in turn\n",
                    show_counted(event.steps, "step"))));
  }
  progress_ = Progress();
  progress_.run = "overhead";
  progress_.total_steps = event.steps.value_or(0);
  training_ = true;
  follow(std::nullopt, event.step);
}

void Console::on_inspect(const InspectEvent& event) {
  if (!options_.quiet) print(inspection_table(event));
}

void Console::on_worker_lost(const WorkerLostEvent& event) {
  const std::string again =
      event.restart ? fmt::format(" and started again (restart {})", *event.restart) : "";
  print(coloured(kYellow, in_lines(fmt::format("NOTE: worker {} is lost{}, the others go on: {}",
                                               show_count(event.worker), again, show_text(event.reason)))) +
        "\n");
}

void Console::on_restart(const RestartEvent& event) {
  print_row();
  restarted_ = true;
  const int64_t step = event.step.value_or(0);
  const double wait = event.wait_seconds.value_or(0);
  print(titled(fmt::format("RESTART {}:", show_count(event.restart)), event.error) +
        fmt::format("\n  {} from {}\n",
                    wait > 0 ? "starts again in " + show_duration(wait) : std::string("starts again"),
                    step > 0 ? "the checkpoint of step " + with_separators(step) : "the beginning"));
}

void Console::on_run_end(const RunEndEvent& event) {
  print_row();
  training_ = false;
  pending_ = false;
  const bool failed = event.status == "failed";
  if (options_.quiet && !failed) return;
  std::string text =
      fmt::format("END {}: {}", title_of(event.run),
                  failed ? "failed, exit code " + show_count(event.exit_code) : show_text(event.status));
  if (event.steps) {
    const std::string rest =
        resumed_step_ ? ", the last " + with_separators(*event.steps - *resumed_step_) : "";
    text +=
        fmt::format(", {}{} in {}", show_counted(event.steps, "step"), rest, show_duration(event.seconds));
  }
  text = coloured(failed ? kRed : kBold, text) + "\n";
  if (event.speed.examples_per_second) {
    const int64_t skipped = event.skipped_steps.value_or(0);
    text += in_lines(fmt::format(
        "  {} examples/s, {} ms a step (medians{}{})\n", show_rate(event.speed.examples_per_second),
        show_milliseconds(event.speed.step_ms), event.phase ? fmt::format(" of phase {}", *event.phase) : "",
        skipped > 0 ? " without the first " + show_counted(skipped, "step") : ""));
  }
  if (event.traffic.bytes_sent) {
    text += fmt::format("  {} sent and {} received in a step\n", human_bytes(*event.traffic.bytes_sent),
                        human_bytes(event.traffic.bytes_received.value_or(0)));
  }
  for (const std::string& line : link_lines(event.links.value_or(std::vector<LinkSummary>())))
    text += in_lines("  " + line) + "\n";
  text += evaluation_lines(event);
  if (event.noise_scale) text += in_lines("  " + show_noise_scale(*event.noise_scale) + "\n");
  if (event.restart_cost.restarts) {
    text += fmt::format("  {}, {} lost\n", show_counted(event.restart_cost.restarts, "restart"),
                        show_duration(event.restart_cost.lost_seconds));
  }
  text += workers_lines(event);
  print(text + (options_.quiet ? "" : "\n"));
}

// The final evaluation, and the best one if that was an earlier one.
std::string Console::evaluation_lines(const RunEndEvent& event) const {
  std::string text;
  if (event.validation && event.part != kValidationPart)
    text += in_lines(evaluation_line("final validation", event.validation->metrics));
  text += in_lines(evaluation_line("final " + show_text(event.part.value_or(kTestPart)), event.metrics));
  text += in_lines(intervals_line(event));
  const auto all = evaluations_.find(event.run.value_or(""));
  if (all == evaluations_.end()) return text;
  const EvaluationPoint* best = all->second.best(options_.best);
  if (best == nullptr || best == &all->second.points.back()) return text;
  const std::string& metric = *options_.best.metric;
  text += "  " +
          coloured(kGreen, fmt::format("best epoch by {}: {}, loss {}, {} {}", metric, best->epoch,
                                       show_metric(best->value("loss")), main_metric_of(best->metrics),
                                       show_metric(best->value(main_metric_of(best->metrics))))) +
          "\n";
  if (event.run != "distributed" || !options_.is_lost || !options_.is_lost(best->step)) return text;
  return text +
         in_lines(fmt::format("  its weights were not saved; checkpoint: {{best: {{metric: {}}}}} saves "
                              "the best ones\n",
                              metric));
}

void Console::on_comparison(const ComparisonEvent& event) {
  print(comparison_table(event, options_.is_terminal ? options_.width : 0) +
        coloured(kBold, in_lines(printable(event.verdict.value_or(""), kTextLimit), 0)) +
        (options_.quiet ? "\n" : "\n\n"));
}

void Console::on_warning(const WarningEvent& event) { print(titled("WARNING:", event.text) + "\n"); }

void Console::on_message(const MessageEvent& event) {
  if (!options_.quiet) print(in_lines(printable(event.text.value_or(""), kTextLimit)) + "\n");
}

std::string Console::title_of(const std::optional<std::string>& run) const {
  return options_.alone && run == "distributed" ? "training" : show_text(run);
}

int Console::table_width() const { return options_.is_terminal ? options_.width : kEpochTableWidth; }

std::string Console::in_lines(const std::string& text, int indent) const {
  return wrapped(text, options_.is_terminal ? options_.width : 0, indent);
}

std::string Console::titled(const std::string& title, const std::optional<std::string>& text) const {
  const std::string lines = in_lines(title + " " + printable(text.value_or(""), kTextLimit));
  return coloured(kYellow, title) + lines.substr(title.size());
}

std::string Console::coloured(const char* code, const std::string& text) const {
  return options_.colour ? code + text + kPlain : text;
}

void Console::follow(std::optional<int64_t> epoch, std::optional<int64_t> step) {
  if (!options_.is_terminal || options_.quiet || !training_) return;
  progress_.epoch = epoch.value_or(progress_.epoch);
  progress_.step = step.value_or(progress_.step);
  pace_.see(progress_.step, options_.clock());
  progress_.seconds_left = pace_.seconds_left(progress_.step, progress_.total_steps);
  pending_ = true;
  draw_when_due();
}

void Console::draw_when_due() {
  const double now = options_.clock();
  if ((drawn_ && now - drawn_at_ < kSecondsBetweenDrawings) || !options_.has_room()) return;
  out_ << "\r" << progress_line(progress_, options_.width) << "\x1b[K" << std::flush;
  drawn_ = true;
  pending_ = false;
  drawn_at_ = now;
}

}  // namespace dtrain
