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
std::string devices(const Event& start) {
  const auto list = start.find("devices");
  if (list == start.end() || !list->is_array()) return "-";
  std::vector<std::string> names;
  for (const Event& name : *list) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  if (std::set<std::string>(names.begin(), names.end()).size() == 1) names.resize(1);
  return printable(join(names));
}

std::string global_batch(const Event& start) {
  return fmt::format("{} = {} per replica x {} x {}", show_count(integer_at(start, "global_batch")),
                     show_count(integer_at(start, "per_replica_batch")),
                     show_counted(integer_at(start, "replicas"), "replica"),
                     show_counted(integer_at(start, "accumulate_steps"), "accumulation step"));
}

// The text of the derivation ends with the learning rate.
std::string learning_rate(const Event& start) {
  if (text_at(start, "learning_rate_derivation")) return show_text(start, "learning_rate_derivation");
  const auto rate = number_at(start, "learning_rate");
  return rate ? fmt::format("{:g}", *rate) : "-";
}

std::string timing(const Event& start) {
  return fmt::format("median of the steps after the first {}",
                     show_count(integer_at(start, "skipped_steps")));
}

}  // namespace

std::string fallback_note(const Event& start, bool colour) {
  if (!text_at(start, "dataset_requested")) return "";
  return fmt::format(
      "{}NOTE: dataset {} was not found; this run uses the fallback {}, and its numbers are not those of "
      "{}{}\n",
      colour ? "\x1b[1;33m" : "", show_text(start, "dataset_requested"), show_text(start, "dataset"),
      show_text(start, "dataset_requested"), colour ? "\x1b[0m" : "");
}

std::string start_banner(const Event& start, bool colour) {
  const auto count = [&](const char* key) { return show_count(integer_at(start, key)); };
  std::string block = fmt::format("{} run: {}\n", show_text(start, "run"), show_text(start, "name"));
  add_row(block, "strategy",
          fmt::format("{}, {} on {}, {} each", show_text(start, "strategy"),
                      show_counted(integer_at(start, "replicas"), "replica"), devices(start),
                      show_counted(integer_at(start, "threads_per_replica"), "thread")));
  if (const auto servers = integer_at(start, "servers")) {
    const auto bound = integer_at(start, "max_staleness");
    add_row(block, "variables",
            fmt::format("on {}, staleness {}", show_counted(servers, "server"),
                        bound ? fmt::format("at most {}", *bound) : "without a bound"));
  }
  add_row(block, "global batch", global_batch(start));
  add_row(block, "learning rate", learning_rate(start));
  add_row(block, "training",
          fmt::format("{} of {}: {} in all", show_counted(integer_at(start, "epochs"), "epoch"),
                      show_counted(integer_at(start, "steps_per_epoch"), "step"), count("total_steps")));
  add_row(block, "dataset",
          fmt::format("{}, {} training and {} test examples", show_text(start, "dataset"),
                      count("train_examples"), count("test_examples")));
  add_row(block, "source", show_text(start, "dataset_source"));
  const std::string note = fallback_note(start, colour);
  if (!note.empty()) block += "  " + note;
  add_row(block, "model", fmt::format("{} parameters, {}", count("parameters"), show_text(start, "dtype")));
  add_row(block, "seed", start.contains("seed") && start["seed"].is_number() ? start["seed"].dump() : "-");
  add_row(block, "step timing", timing(start));
  add_row(block, "versions",
          fmt::format("dtrain {}, LibTorch {}", show_text(start, "dtrain"), show_text(start, "libtorch")));
  return block;
}

}  // namespace dtrain
