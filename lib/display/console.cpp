#include "display/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

std::string how_it_ended(const Event& end) {
  const std::string status = show_text(end, "status");
  return status == "failed" ? fmt::format("failed, exit code {}", show_count(integer_at(end, "exit_code")))
                            : status;
}

// What each worker of parameter_server did; empty for strategies whose replicas work in step.
std::string workers_lines(const Event& end) {
  const auto workers = end.find("workers");
  const auto staleness = end.find("staleness");
  if (workers == end.end() || !workers->is_array() || staleness == end.end()) return "";
  std::string text =
      fmt::format("  staleness of updates: {:.2f} on average, {} at most\n",
                  number_at(*staleness, "mean").value_or(0), show_count(integer_at(*staleness, "maximum")));
  size_t number = 0;
  for (const Event& worker : *workers) {
    text += fmt::format("  worker {}: {} at {:.1f} a second{}{}\n", number++,
                        show_counted(integer_at(worker, "updates"), "update"),
                        number_at(worker, "updates_per_second").value_or(0),
                        worker.contains("straggler") ? ", a straggler" : "",
                        worker.contains("lost") ? ", lost" : "");
  }
  return text;
}

}  // namespace

Console::Console(std::ostream& out, ConsoleOptions options) : out_(out), options_(std::move(options)) {}

Console::~Console() { clear_progress(); }

void Console::on_event(const Event& event) {
  using Handler = void (Console::*)(const Event&);
  static const std::map<std::string, Handler> handlers = {{"run_start", &Console::on_run_start},
                                                          {"step", &Console::on_step},
                                                          {"progress", &Console::on_progress},
                                                          {"epoch", &Console::on_epoch},
                                                          {"eval", &Console::on_eval},
                                                          {"inspect", &Console::on_inspect},
                                                          {"worker_lost", &Console::on_worker_lost},
                                                          {"restart", &Console::on_restart},
                                                          {"run_end", &Console::on_run_end},
                                                          {"comparison", &Console::on_comparison},
                                                          {"warning", &Console::on_warning},
                                                          {"message", &Console::on_message}};
  const std::string kind = text_at(event, "event").value_or("");
  if (options_.json) {
    if (kind != "progress") print(event_text(event) + "\n");
    return;
  }
  const auto handler = handlers.find(kind);
  if (handler != handlers.end()) (this->*handler->second)(event);
}

void Console::on_tick() {
  if (pending_) draw_when_due();
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

void Console::on_run_start(const Event& event) {
  progress_ = Progress();
  progress_.run = show_text(event, "run");
  progress_.epochs = integer_at(event, "epochs").value_or(0);
  progress_.total_steps = integer_at(event, "total_steps").value_or(0);
  first_step_ = -1;
  training_ = true;
  if (options_.quiet) {
    if (!noted_) print(fallback_note(event, options_.colour));
    noted_ = true;
    return;
  }
  const auto replicas = integer_at(event, "replicas");
  const bool is_known = restarted_ && replicas == replicas_;  // the banner was shown before the restart
  replicas_ = replicas;
  print((is_known ? "" : start_banner(event, options_.colour)) + fmt::format("BEGIN {}\n", progress_.run) +
        fmt::format(kRow, "epoch", "phase", "loss", "accuracy", "examples/s", "step ms", "time"));
}

void Console::on_step(const Event& event) {
  progress_.loss = number_at(event, "loss");
  progress_.accuracy = number_at(event, "accuracy");
  progress_.examples_per_second = number_at(event, "examples_per_second");
  follow(event);
}

void Console::on_progress(const Event& event) { follow(event); }

void Console::on_epoch(const Event& event) {
  print_row(event, "train", number_at(event, "examples_per_second"));
}

void Console::on_eval(const Event& event) {
  const auto examples = number_at(event, "examples");
  const auto seconds = number_at(event, "seconds");
  std::optional<double> rate;
  if (examples && seconds && *seconds > 0) rate = *examples / *seconds;
  print_row(event, "eval", rate);
}

void Console::on_inspect(const Event& event) {
  if (!options_.quiet) print(inspection_table(event));
}

void Console::on_worker_lost(const Event& event) {
  const auto restart = integer_at(event, "restart");
  print(fmt::format(
      "NOTE: worker {} is lost{}, the others go on: {}\n", show_count(integer_at(event, "worker")),
      restart ? fmt::format(" and started again (restart {})", *restart) : "", show_text(event, "reason")));
}

void Console::on_restart(const Event& event) {
  restarted_ = true;
  const int64_t step = integer_at(event, "step").value_or(0);
  const double wait = number_at(event, "wait_seconds").value_or(0);
  print(coloured(kRed, fmt::format("RESTART {}: ", show_count(integer_at(event, "restart")))) +
        printable(text_at(event, "error").value_or(""), kTextLimit) +
        fmt::format("\n  {} from {}\n",
                    wait > 0 ? "starts again in " + show_duration(wait) : std::string("starts again"),
                    step > 0 ? "the checkpoint of step " + with_separators(step) : "the beginning"));
}

void Console::print_row(const Event& event, const char* phase, std::optional<double> examples_per_second) {
  if (options_.quiet) return;
  print(fmt::format(kRow, fmt::format("{}/{}", show_count(integer_at(event, "epoch")), progress_.epochs),
                    phase, show_loss(number_at(event, "loss")), show_accuracy(number_at(event, "accuracy")),
                    show_rate(examples_per_second), show_milliseconds(number_at(event, "step_ms")),
                    show_duration(number_at(event, "seconds"))));
}

void Console::on_run_end(const Event& event) {
  training_ = false;
  pending_ = false;
  const bool failed = text_at(event, "status") == "failed";
  if (options_.quiet && !failed) return;
  std::string text = fmt::format("END {}: {}", show_text(event, "run"), how_it_ended(event));
  if (const auto steps = integer_at(event, "steps"))
    text +=
        fmt::format(", {} in {}", show_counted(steps, "step"), show_duration(number_at(event, "seconds")));
  text = coloured(failed ? kRed : kBold, text) + "\n";
  if (const auto rate = number_at(event, "examples_per_second")) {
    text += fmt::format("  {} examples/s, {} ms a step (medians without the first {})\n", show_rate(rate),
                        show_milliseconds(number_at(event, "step_ms")),
                        show_counted(integer_at(event, "skipped_steps"), "step"));
  }
  if (const auto sent = integer_at(event, "bytes_sent")) {
    text += fmt::format("  {} sent and {} received in a step\n", human_bytes(*sent),
                        human_bytes(integer_at(event, "bytes_received").value_or(0)));
  }
  if (const auto loss = number_at(event, "loss")) {
    text += fmt::format("  final evaluation: loss {}, accuracy {}\n", show_loss(loss),
                        show_accuracy(number_at(event, "accuracy")));
  }
  if (const auto restarts = integer_at(event, "restarts")) {
    text += fmt::format("  {}, {} lost\n", show_counted(restarts, "restart"),
                        show_duration(number_at(event, "lost_seconds")));
  }
  text += workers_lines(event);
  print(text + (options_.quiet ? "" : "\n"));
}

void Console::on_comparison(const Event& event) {
  print(comparison_table(event) +
        coloured(kBold, printable(text_at(event, "verdict").value_or(""), kTextLimit)) + "\n");
}

void Console::on_warning(const Event& event) {
  print(coloured(kRed, "WARNING: ") + printable(text_at(event, "text").value_or(""), kTextLimit) + "\n");
}

void Console::on_message(const Event& event) {
  if (!options_.quiet) print(printable(text_at(event, "text").value_or(""), kTextLimit) + "\n");
}

std::string Console::coloured(const char* code, const std::string& text) const {
  return options_.colour ? code + text + "\x1b[0m" : text;
}

// Takes the position from an event. Estimates the time left from the pace since the first step that was seen:
// evaluations are included, the steps that a resumed run did earlier are not.
void Console::follow(const Event& event) {
  if (!options_.is_terminal || options_.quiet || !training_) return;
  progress_.epoch = integer_at(event, "epoch").value_or(progress_.epoch);
  progress_.step = integer_at(event, "step").value_or(progress_.step);
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
