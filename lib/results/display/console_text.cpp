#include "display/console_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/terminal.h"
#include "core/text.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr int kIndent = 16;  // of values

int width_of(const ConsoleOptions& options) { return options.is_terminal ? options.width : 0; }

// "cpu" if all devices are equal, "cuda:0, cuda:1" if they differ.
std::string devices(const RunStartEvent& start) {
  if (!start.devices) return "-";
  std::vector<std::string> names = *start.devices;
  if (std::set<std::string>(names.begin(), names.end()).size() == 1) names.resize(1);
  return printable(join(names));
}

std::string strategy(const RunStartEvent& start) {
  const std::string threads = show_counted(start.threads_per_replica, "thread");
  if (start.replicas == 1)
    return fmt::format("{}, on {} with {}", show_text(start.strategy), devices(start), threads);
  return fmt::format("{}, {} on {}, {} each", show_text(start.strategy),
                     show_counted(start.replicas, "replica"), devices(start), threads);
}

// The global batch and what it is made of: factors of 1 are left out.
std::string global_batch(const RunStartEvent& start) {
  const std::optional<int64_t> parts = start.virtual_replicas ? start.virtual_replicas : start.replicas;
  const bool many = parts != 1, accumulates = start.accumulate_steps.value_or(1) != 1;
  std::string text = show_count(start.global_batch);
  if (many || accumulates) text += " = " + show_count(start.per_replica_batch);
  if (many)
    text += " per replica x " + show_counted(parts, start.virtual_replicas ? "virtual replica" : "replica");
  if (accumulates) text += " x " + show_counted(start.accumulate_steps, "accumulation step");
  return text;
}

std::string learning_rate(const RunStartEvent& start) {
  if (start.learning_rate_derivation) return printable(*start.learning_rate_derivation, 1000);
  return start.learning_rate ? fmt::format("{:g}", *start.learning_rate) : "-";
}

std::string timing(const RunStartEvent& start) {
  if (start.skipped_steps == 0) return "median of all steps";
  return fmt::format("median of the steps after the first {}",
                     start.skipped_steps == 1 ? "one" : show_count(start.skipped_steps));
}

std::string note(const std::string& text, const ConsoleOptions& options) {
  const std::string lines = wrapped("NOTE: " + text, width_of(options), 2);
  return (options.colour ? kYellow + lines + kPlain : lines) + "\n";
}

constexpr char kColumns[] = "{:>9} {:>9} {:>9} {:>9} {:>9}";
constexpr char kSpeedColumns[] = " {:>11} {:>11}";

std::string metric(const MetricValues& metrics, const std::string& name) {
  return show_metric(find_metric(metrics, name));
}

constexpr char kReplicaRow[] = "  {:>4}  {:>8}  {:<22}  {:>9}  {:>12}  {:>12}\n";

std::string show_norm(std::optional<double> value) { return value ? fmt::format("{:.8g}", *value) : "-"; }

// "5, 17, 3, ..."
std::string show_indices(const InspectedReplica& replica) {
  if (!replica.first_indices) return "-";
  std::string text;
  size_t shown = 0;
  for (const int64_t index : *replica.first_indices) {
    const std::string number = std::to_string(index);
    if (text.size() + number.size() > 16) break;
    text += (shown++ > 0 ? ", " : "") + number;
  }
  return replica.examples.value_or(0) > static_cast<int64_t>(shown) ? text + ", ..." : text;
}

constexpr size_t kShortestBar = 12;
constexpr size_t kLongestBar = 32;
constexpr size_t kBar = 2;  // the index of the bar among the parts

std::string bar(int64_t done, int64_t total, size_t length) {
  const size_t inside = length - 2;
  const double part =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  const auto filled = static_cast<size_t>(part * static_cast<double>(inside));
  std::string drawn(filled, '=');
  if (filled < inside) drawn += '>';
  return "[" + drawn + std::string(inside - drawn.size(), '.') + "]";
}

struct Part {
  std::string text;
  int importance;
  bool shown = false;
};

}  // namespace

std::string fallback_notes(const RunStartEvent& start, const ConsoleOptions& options) {
  std::string notes;
  if (start.dataset_requested)
    notes += note(
        fmt::format(
            "dataset {} was not found; this run uses the fallback {}, and its numbers are not those of {}",
            show_text(start.dataset_requested), show_text(start.dataset), show_text(start.dataset_requested)),
        options);
  if (start.strategy_fallback)
    notes += note("mirrored takes the place of tpu: " + printable(*start.strategy_fallback, 1000), options);
  return notes;
}

std::string start_banner(const RunStartEvent& start, const ConsoleOptions& options) {
  std::string block = options.alone
                          ? fmt::format("run: {}\n", show_text(start.name))
                          : fmt::format("{} run: {}\n", show_text(start.run), show_text(start.name));
  const auto add_row = [&](const std::string& name, const std::string& value) {
    block += wrapped(fmt::format("  {:<14}{}", name, value), width_of(options), kIndent) + "\n";
  };
  add_row("strategy", strategy(start));
  if (start.servers) {
    const std::optional<int64_t> bound = start.max_staleness;
    add_row("variables", fmt::format("on {}, staleness {}", show_counted(start.servers, "server"),
                                     bound ? fmt::format("at most {}", *bound) : "without a bound"));
  }
  add_row(start.replicas == 1 ? "batch" : "global batch", global_batch(start));
  if (!start.phases) add_row("learning rate", learning_rate(start));
  add_row("training", fmt::format("{} of {}: {} in all{}", show_counted(start.epochs, "epoch"),
                                  show_counted(start.steps_per_epoch, "step"), show_count(start.total_steps),
                                  start.phases ? ", in " + show_counted(start.phases, "phase") : ""));
  const std::string validation =
      start.validation_examples ? fmt::format(", {} validation", show_count(start.validation_examples)) : "";
  const std::string bad = start.bad_examples.value_or(0) > 0 ? fmt::format(", without {} that cannot be read",
                                                                           show_count(start.bad_examples))
                                                             : "";
  add_row("dataset",
          fmt::format("{}, {} training{} and {} test examples{}", show_text(start.dataset),
                      show_count(start.train_examples), validation, show_count(start.test_examples), bad));
  add_row("source", show_text(start.dataset_source));
  block += fallback_notes(start, options);
  add_row("model", fmt::format("{} parameters, {}", show_count(start.parameters), show_text(start.dtype)));
  if (start.execution) {
    const auto& reason = start.execution_reason;
    add_row("step", show_text(start.execution) + (reason ? ": " + printable(*reason) : ""));
  }
  add_row("seed", start.seed ? std::to_string(*start.seed) : "-");
  add_row("step timing", timing(start));
  add_row("versions",
          fmt::format("dtrain {}, LibTorch {}", show_text(start.dtrain), show_text(start.libtorch)));
  return block;
}

std::string phase_line(const PhaseEvent& event) {
  const std::string number = show_count(event.phase);
  const std::string name = event.name && *event.name != number ? " (" + show_text(event.name) + ")" : "";
  std::string text = fmt::format("PHASE {} of {}{}: trains {} of {} parameters, learning rate {}", number,
                                 show_count(event.phases), name, show_count(event.trained_parameters),
                                 show_count(event.parameters),
                                 printable(event.learning_rate_derivation.value_or("-"), 1000));
  if (event.feature_bytes)
    text += fmt::format("; what the frozen layers make of the examples takes {}, ready in {}",
                        human_bytes(*event.feature_bytes), show_duration(event.feature_seconds));
  return text;
}

std::string epoch_heading(const std::string& evaluated, const std::string& metric, const std::string& best_by,
                          int width) {
  std::string first = fmt::format("{:>9}{:>20}{:>20}", "", "-- training --", "-- " + evaluated + " --");
  std::string second = fmt::format(kColumns, "epoch", "loss", metric, "loss", metric);
  if (width >= kEpochTableWidth) {
    if (!best_by.empty()) first += fmt::format("{:>30}", "best by " + best_by);
    second += fmt::format(kSpeedColumns, "examples/s", "time");
  }
  return first + "\n" + second + "\n";
}

std::string epoch_line(const EpochRow& row, const std::string& main, bool green, int width) {
  std::string line = fmt::format(kColumns, fmt::format("{}/{}", show_count(row.epoch), row.epochs),
                                 metric(row.training, "loss"), metric(row.training, main),
                                 metric(row.evaluation, "loss"), metric(row.evaluation, main));
  if (width >= kEpochTableWidth)
    line += fmt::format(kSpeedColumns, show_rate(row.examples_per_second), show_duration(row.seconds));
  if (!row.is_best) return line + "\n";
  return line + (green ? fmt::format("  {}best{}\n", kGreen, kPlain) : "  best\n");
}

std::string inspection_table(const InspectEvent& inspection) {
  std::string text =
      fmt::format("step {}, replica by replica\n", show_count(inspection.step)) +
      fmt::format(kReplicaRow, "rank", "examples", "which", "loss", "gradient norm", "weight norm");
  if (inspection.replicas) {
    for (const InspectedReplica& replica : *inspection.replicas)
      text += fmt::format(kReplicaRow, show_count(replica.rank), show_count(replica.examples),
                          show_indices(replica), show_metric(replica.loss), show_norm(replica.gradient_norm),
                          show_norm(replica.weight_norm));
  }
  text += fmt::format(
      "  shared gradient: norm {}\n  the sum of the above: {} (difference {:.1e}, allowed {:.0e})\n",
      show_norm(inspection.gradient_norm), show_norm(inspection.expected_gradient_norm),
      inspection.gradient_difference.value_or(0), inspection.gradient_tolerance.value_or(0));
  text += fmt::format("  weights after the update: {} on every replica\n",
                      inspection.weights_equal.value_or(false) ? "the same" : "NOT the same");
  return text + (inspection.passed.value_or(false) ? "  OK\n" : "  FAILED\n");
}

void Pace::see(int64_t step, double seconds) {
  if (first_step_ < 0) {
    first_step_ = step;
    first_at_ = seconds;
  }
  last_step_ = step;
  last_at_ = seconds;
}

std::optional<double> Pace::seconds_left(int64_t step, int64_t total) const {
  if (last_step_ <= first_step_) return std::nullopt;
  const double seconds_per_step = (last_at_ - first_at_) / static_cast<double>(last_step_ - first_step_);
  return static_cast<double>(std::max<int64_t>(0, total - step)) * std::max(0.0, seconds_per_step);
}

std::string progress_line(const Progress& progress, int width) {
  const size_t room = width > 1 ? static_cast<size_t>(width - 1) : 0;
  const std::string total = std::to_string(progress.total_steps);
  std::vector<Part> parts = {
      // in the order in which they are shown
      {progress.run, 1},
      {progress.epochs > 0 ? fmt::format("epoch {}/{}", progress.epoch, progress.epochs) : std::string(), 8},
      {std::string(kShortestBar, ' '), 6},
      {fmt::format("{:>{}}/{}", progress.step, total.size(), total), 7}};
  if (progress.epoch_is_over) {
    parts.push_back({"evaluating", 5});
  } else {
    if (progress.loss) parts.push_back({"loss " + show_metric(progress.loss), 5});
    if (progress.value) parts.push_back({progress.metric + " " + show_metric(progress.value), 2});
  }
  if (progress.examples_per_second)
    parts.push_back({show_rate(progress.examples_per_second) + " examples/s", 3});
  if (progress.seconds_left) parts.push_back({human_duration(*progress.seconds_left) + " left", 4});

  std::vector<Part*> by_importance;
  for (Part& part : parts) by_importance.push_back(&part);
  std::ranges::sort(by_importance,
                    [](const Part* a, const Part* b) { return a->importance > b->importance; });
  size_t used = 0;
  for (Part* part : by_importance) {
    const size_t needed = part->text.size() + (used > 0 ? 1 : 0);
    part->shown = used + needed <= room;
    if (part->shown) used += needed;
  }
  parts[kBar].text =
      bar(progress.step, progress.total_steps, std::min(kLongestBar, kShortestBar + room - used));

  std::string line;
  for (const Part& part : parts) {
    if (part.shown && !part.text.empty()) line += (line.empty() ? "" : " ") + part.text;
  }
  return line;
}

}  // namespace dtrain
