#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "commands/commands.h"
#include "core/text.h"
#include "inference/find_checkpoint.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// The checkpoint at `path`, or all checkpoints in it if it is the folder of a run or the run's folder of
// checkpoints.
std::vector<fs::path> checkpoints_at(const fs::path& path) {
  require_folder(path, ExitCode::kCheckpoint);
  for (const fs::path& folder : {path, path / "checkpoints"}) {
    std::vector<fs::path> found;
    for (const SavedCheckpoint& checkpoint : list_checkpoints(folder)) found.push_back(checkpoint.path);
    if (!found.empty()) return found;
  }
  return {path};
}

const char* verdict(const TensorReport& tensor) {
  if (!tensor.good) return "unknown";
  return *tensor.good ? "OK" : "BAD";
}

void print_file(const FileReport& file) {
  size_t width = 6;
  for (const TensorReport& tensor : file.tensors) width = std::max(width, printable(tensor.name, 80).size());
  std::cout << fmt::format("\n{}\n", file.name);
  for (const TensorReport& tensor : file.tensors) {
    std::cout << fmt::format("  {:<{}}  {:<4}  {:<20}  {:>10}  {}\n", printable(tensor.name, 80), width,
                             tensor.dtype, fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
                             human_bytes(tensor.bytes), verdict(tensor));
  }
}

void print_state(const TrainingState& state) {
  const auto line = [](const char* label, const std::string& value) {
    std::cout << fmt::format("  {:<15}{}\n", label, printable(value, 1000));
  };
  line("run", fmt::format("{} on {}", state.run, counted(state.replicas, "replica")));
  line("step", fmt::format("{}, after {} and {} examples of the next", with_separators(state.step),
                           counted(state.epoch, "epoch"), with_separators(state.position)));
  line("learning rate", fmt::format("{:g}", state.learning_rate));
  if (!state.metrics.empty() && state.validation_examples > 0)
    line("evaluated on", fmt::format("{} validation examples", with_separators(state.validation_examples)));
  for (const auto& [name, value] : state.metrics)
    line(printable(name, 14).c_str(), fmt::format("{:.6g}", value));
  if (!state.suspicion.empty()) line("suspect", state.suspicion);
  line("saved by", fmt::format("dtrain {}, LibTorch {}", state.dtrain, state.libtorch));
}

void print_report(const fs::path& path, const CheckpointReport& report) {
  std::cout << printable(path.string(), 1000) << '\n';
  if (report.state) print_state(*report.state);
  for (const FileReport& file : report.files) print_file(file);
  if (!report.problems.empty()) std::cout << '\n';
  for (const std::string& problem : report.problems) std::cout << printable(problem, 2000) << '\n';
  std::cout << (report.problems.empty() ? "\nall of it is as it was saved\n" : "\nDAMAGED\n");
  if (report.state && !report.state->suspicion.empty()) std::cout << "SUSPECT\n";
}

const char* summary_word(const CheckpointReport& report) {
  if (!report.problems.empty()) return "DAMAGED";
  return report.state && !report.state->suspicion.empty() ? "SUSPECT" : "OK";
}

// One line, for a folder with several checkpoints.
void print_summary(const fs::path& path, const CheckpointReport& report, bool is_best) {
  std::string text = fmt::format("{:<8}{}", summary_word(report), path.filename().string());
  if (report.state) {
    text += fmt::format("  epoch {}", report.state->epoch);
    for (const auto& [name, value] : report.state->metrics)
      text += fmt::format("  {} {:.4g}", printable(name), value);
  }
  std::cout << text << (is_best ? "  best" : "") << '\n';
  for (const std::string& problem : report.problems)
    std::cout << "        " << printable(problem, 2000) << '\n';
  if (report.state && !report.state->suspicion.empty())
    std::cout << "        " << printable(report.state->suspicion, 2000) << '\n';
}

ordered_json to_json(const fs::path& path, const CheckpointReport& report, bool is_best) {
  ordered_json json = {{"path", path.string()},
                       {"good", report.problems.empty()},
                       {"problems", report.problems},
                       {"best", is_best}};
  if (report.state) json["state"] = to_json(*report.state);
  json["files"] = ordered_json::array();
  for (const FileReport& file : report.files) {
    ordered_json tensors = ordered_json::array();
    for (const TensorReport& tensor : file.tensors) {
      tensors.push_back({{"name", tensor.name},
                         {"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"bytes", tensor.bytes},
                         {"good", tensor.good ? ordered_json(*tensor.good) : ordered_json()}});
    }
    json["files"].push_back({{"name", file.name}, {"tensors", tensors}});
  }
  return json;
}

}  // namespace

ExitCode inspect_command(const std::string& checkpoint, bool json) {
  ExitCode code = ExitCode::kDone;
  const std::vector<fs::path> paths = checkpoints_at(checkpoint);
  const auto best = best_of_run(fs::canonical(paths.front()).parent_path());
  ordered_json all = ordered_json::array();
  for (const fs::path& path : paths) {
    const bool is_best = best && fs::equivalent(best->path, path);
    const CheckpointReport report = inspect_checkpoint(path);
    if (!report.problems.empty()) code = ExitCode::kCheckpoint;
    if (json) {
      all.push_back(to_json(path, report, is_best));
    } else if (paths.size() == 1) {
      print_report(path, report);
    } else {
      print_summary(path, report, is_best);
    }
  }
  if (json) {
    const std::string text =
        ordered_json{{"checkpoints", all}}.dump(2, ' ', false, ordered_json::error_handler_t::replace);
    std::cout << printable_json(text) << '\n';
  }
  return code;
}

}  // namespace dtrain
