#include "display/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "display/banner.h"
#include "display/inspection_table.h"
#include "metrics/show.h"
#include "runs/comparison.h"

namespace dtrain {
namespace {

constexpr double kSecondsBetweenDrawings = 0.1;
constexpr size_t kTextLimit = 2000;
const char kClearLine[] = "\r\x1b[K";
const char kRed[] = "\x1b[31m";
const char kBold[] = "\x1b[1m";
constexpr char kRow[] = "{:>9}  {:<5} {:>10} {:>9} {:>12} {:>10} {:>12}\n";

std::string how_it_ended(const RunEndEvent& end) {
  const std::string status = show_text(end.status);
  return status == "failed" ? fmt::format("failed, exit code {}", show_count(end.exit_code)) : status;
}

std::string evaluation_line(const std::string& title, const MetricValues& metrics) {
  const auto loss = find_metric(metrics, "loss");
  if (!loss) return "";
  return fmt::format("  {}: loss {}, accuracy {}\n", title, show_metric(loss),
                     show_metric(find_metric(metrics, "accuracy")));
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

template <class T>
void Console::handle(const Event& event, void (Console::*handler)(const T&)) {
  if (const std::optional<T> known = decode<T>(event)) (this->*handler)(*known);
}

void Console::on_event(const Event& event) {
  if (options_.json) {
    if (!decode<ProgressEvent>(event)) print(event_text(event) + "\n");
    return;
  }
  handle(event, &Console::on_run_start);
  handle(event, &Console::on_step);
  handle(event, &Console::on_progress);
  handle(event, &Console::on_epoch);
  handle(event, &Console::on_eval);
  handle(event, &Console::on_inspect);
  handle(event, &Console::on_worker_lost);
  handle(event, &Console::on_restart);
  handle(event, &Console::on_run_end);
  handle(event, &Console::on_comparison);
  handle(event, &Console::on_warning);
  handle(event, &Console::on_message);
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

void Console::on_run_start(const RunStartEvent& event) {
  progress_ = Progress();
  progress_.run = show_text(event.run);
  progress_.epochs = event.epochs.value_or(0);
  progress_.total_steps = event.total_steps.value_or(0);
  first_step_ = -1;
  training_ = true;
  if (options_.quiet) {
    if (!noted_) print(fallback_note(event, options_.colour));
    noted_ = true;
    return;
  }
  const auto replicas = event.replicas;
  const bool is_known = restarted_ && replicas == replicas_;  // the banner was shown before the restart
  replicas_ = replicas;
  print((is_known ? "" : start_banner(event, options_.colour)) + fmt::format("BEGIN {}\n", progress_.run) +
        fmt::format(kRow, "epoch", "phase", "loss", "accuracy", "examples/s", "step ms", "time"));
}

void Console::on_step(const StepEvent& event) {
  progress_.loss = find_metric(event.metrics, "loss");
  progress_.accuracy = find_metric(event.metrics, "accuracy");
  progress_.examples_per_second = event.speed.examples_per_second;
  follow(event.epoch, event.step);
}

void Console::on_progress(const ProgressEvent& event) { follow(event.epoch, event.step); }

void Console::on_epoch(const EpochEvent& event) {
  print_row({"train", event.epoch, event.metrics, event.speed, event.seconds});
}

void Console::on_eval(const EvalEvent& event) {
  StepSpeed speed;
  if (event.examples && event.seconds && *event.seconds > 0)
    speed.examples_per_second = static_cast<double>(*event.examples) / *event.seconds;
  // As wide as the column.
  const std::string phase = event.part == kValidationPart ? "valid" : event.part.value_or("eval");
  print_row({phase, event.epoch, event.metrics, speed, event.seconds});
}

void Console::on_inspect(const InspectEvent& event) {
  if (!options_.quiet) print(inspection_table(event));
}

void Console::on_worker_lost(const WorkerLostEvent& event) {
  const std::string again =
      event.restart ? fmt::format(" and started again (restart {})", *event.restart) : "";
  print(fmt::format("NOTE: worker {} is lost{}, the others go on: {}\n", show_count(event.worker), again,
                    show_text(event.reason)));
}

void Console::on_restart(const RestartEvent& event) {
  restarted_ = true;
  const int64_t step = event.step.value_or(0);
  const double wait = event.wait_seconds.value_or(0);
  print(coloured(kRed, fmt::format("RESTART {}: ", show_count(event.restart))) +
        printable(event.error.value_or(""), kTextLimit) +
        fmt::format("\n  {} from {}\n",
                    wait > 0 ? "starts again in " + show_duration(wait) : std::string("starts again"),
                    step > 0 ? "the checkpoint of step " + with_separators(step) : "the beginning"));
}

void Console::print_row(const Row& row) {
  if (options_.quiet) return;
  print(fmt::format(kRow, fmt::format("{}/{}", show_count(row.epoch), progress_.epochs),
                    printable(row.phase, 20), show_metric(find_metric(row.metrics, "loss")),
                    show_metric(find_metric(row.metrics, "accuracy")),
                    show_rate(row.speed.examples_per_second), show_milliseconds(row.speed.step_ms),
                    show_duration(row.seconds)));
}

void Console::on_run_end(const RunEndEvent& event) {
  training_ = false;
  pending_ = false;
  const bool failed = event.status == "failed";
  if (options_.quiet && !failed) return;
  std::string text = fmt::format("END {}: {}", show_text(event.run), how_it_ended(event));
  if (event.steps)
    text += fmt::format(", {} in {}", show_counted(event.steps, "step"), show_duration(event.seconds));
  text = coloured(failed ? kRed : kBold, text) + "\n";
  if (event.speed.examples_per_second) {
    text += fmt::format("  {} examples/s, {} ms a step (medians without the first {})\n",
                        show_rate(event.speed.examples_per_second), show_milliseconds(event.speed.step_ms),
                        show_counted(event.skipped_steps, "step"));
  }
  if (event.traffic.bytes_sent) {
    text += fmt::format("  {} sent and {} received in a step\n", human_bytes(*event.traffic.bytes_sent),
                        human_bytes(event.traffic.bytes_received.value_or(0)));
  }
  if (event.validation && event.part != kValidationPart)
    text += evaluation_line("last validation", event.validation->metrics);
  text += evaluation_line(event.part ? "final " + show_text(event.part) : "final evaluation", event.metrics);
  if (event.restart_cost.restarts) {
    text += fmt::format("  {}, {} lost\n", show_counted(event.restart_cost.restarts, "restart"),
                        show_duration(event.restart_cost.lost_seconds));
  }
  text += workers_lines(event);
  print(text + (options_.quiet ? "" : "\n"));
}

void Console::on_comparison(const ComparisonEvent& event) {
  print(comparison_table(event) + coloured(kBold, printable(event.verdict.value_or(""), kTextLimit)) + "\n");
}

void Console::on_warning(const WarningEvent& event) {
  print(coloured(kRed, "WARNING: ") + printable(event.text.value_or(""), kTextLimit) + "\n");
}

void Console::on_message(const MessageEvent& event) {
  if (!options_.quiet) print(printable(event.text.value_or(""), kTextLimit) + "\n");
}

std::string Console::coloured(const char* code, const std::string& text) const {
  return options_.colour ? code + text + "\x1b[0m" : text;
}

// Takes the position. Estimates the time left from the pace since the first step that was seen: evaluations
// are included, the steps that a resumed run did earlier are not.
void Console::follow(std::optional<int64_t> epoch, std::optional<int64_t> step) {
  if (!options_.is_terminal || options_.quiet || !training_) return;
  progress_.epoch = epoch.value_or(progress_.epoch);
  progress_.step = step.value_or(progress_.step);
  const double now = options_.clock();
  if (first_step_ < 0) {
    first_step_ = progress_.step;
    first_step_at_ = now;
  }
  if (progress_.step > first_step_) {
    const double seconds_per_step =
        (now - first_step_at_) / static_cast<double>(progress_.step - first_step_);
    const auto steps_left = static_cast<double>(std::max<int64_t>(0, progress_.total_steps - progress_.step));
    progress_.seconds_left = steps_left * seconds_per_step;
  }
  pending_ = true;
  draw_when_due();
}

void Console::draw_when_due() {
  const double now = options_.clock();
  if (drawn_ && now - drawn_at_ < kSecondsBetweenDrawings) return;
  out_ << "\r" << progress_line(progress_, options_.width) << "\x1b[K" << std::flush;
  drawn_ = true;
  pending_ = false;
  drawn_at_ = now;
}

}  // namespace dtrain
