#include "display/banner.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "core/text.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

void add_row(std::string& block, const std::string& name, const std::string& value) {
  block += fmt::format("  {:<14}{}\n", name, value);
}

// "cpu" if all devices are equal, "cuda:0, cuda:1" if they differ.
std::string devices(const RunStartEvent& start) {
  if (!start.devices) return "-";
  std::vector<std::string> names = *start.devices;
  if (std::set<std::string>(names.begin(), names.end()).size() == 1) names.resize(1);
  return printable(join(names));
}

std::string global_batch(const RunStartEvent& start) {
  return fmt::format("{} = {} per replica x {} x {}", show_count(start.global_batch),
                     show_count(start.per_replica_batch), show_counted(start.replicas, "replica"),
                     show_counted(start.accumulate_steps, "accumulation step"));
}

// The text of the derivation ends with the learning rate.
std::string learning_rate(const RunStartEvent& start) {
  if (start.learning_rate_derivation) return show_text(start.learning_rate_derivation);
  return start.learning_rate ? fmt::format("{:g}", *start.learning_rate) : "-";
}

std::string timing(const RunStartEvent& start) {
  return fmt::format("median of the steps after the first {}", show_count(start.skipped_steps));
}

}  // namespace

std::string fallback_note(const RunStartEvent& start, bool colour) {
  if (!start.dataset_requested) return "";
  return fmt::format(
      "{}NOTE: dataset {} was not found; this run uses the fallback {}, and its numbers are not those of "
      "{}{}\n",
      colour ? "\x1b[1;33m" : "", show_text(start.dataset_requested), show_text(start.dataset),
      show_text(start.dataset_requested), colour ? "\x1b[0m" : "");
}

std::string start_banner(const RunStartEvent& start, bool colour) {
  std::string block = fmt::format("{} run: {}\n", show_text(start.run), show_text(start.name));
  add_row(
      block, "strategy",
      fmt::format("{}, {} on {}, {} each", show_text(start.strategy), show_counted(start.replicas, "replica"),
                  devices(start), show_counted(start.threads_per_replica, "thread")));
  if (start.servers) {
    const std::optional<int64_t> bound = start.max_staleness;
    add_row(block, "variables",
            fmt::format("on {}, staleness {}", show_counted(start.servers, "server"),
                        bound ? fmt::format("at most {}", *bound) : "without a bound"));
  }
  add_row(block, "global batch", global_batch(start));
  add_row(block, "learning rate", learning_rate(start));
  add_row(block, "training",
          fmt::format("{} of {}: {} in all", show_counted(start.epochs, "epoch"),
                      show_counted(start.steps_per_epoch, "step"), show_count(start.total_steps)));
  add_row(block, "dataset",
          fmt::format("{}, {} training{} and {} test examples", show_text(start.dataset),
                      show_count(start.train_examples),
                      start.validation_examples
                          ? fmt::format(", {} validation", show_count(start.validation_examples))
                          : "",
                      show_count(start.test_examples)));
  add_row(block, "source", show_text(start.dataset_source));
  const std::string note = fallback_note(start, colour);
  if (!note.empty()) block += "  " + note;
  add_row(block, "model",
          fmt::format("{} parameters, {}", show_count(start.parameters), show_text(start.dtype)));
  add_row(block, "seed", start.seed ? std::to_string(*start.seed) : "-");
  add_row(block, "step timing", timing(start));
  add_row(block, "versions",
          fmt::format("dtrain {}, LibTorch {}", show_text(start.dtrain), show_text(start.libtorch)));
  return block;
}

}  // namespace dtrain
