// manifest.json: describes what a checkpoint was made from, and holds the checksums of its other files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "safetensors/safetensors.h"

namespace dtrain {

// The position of a training run, and everything else to resume it except its tensors.
struct TrainingState {
  std::string run = "distributed";  // as in the events: distributed or baseline
  int64_t epoch = 0;                // complete passes over the training examples
  int64_t step = 0;                 // optimizer steps since the run began
  int64_t position = 0;             // examples of the current pass that were trained on
  bool unevaluated = false;         // stopped in the evaluation that follows the last complete pass
  int64_t train_examples = 0;       // examples in a pass
  int64_t validation_examples = 0;  // training examples kept for validation
  int64_t global_batch = 0;         // examples in a step
  double learning_rate = 0;         // of the last step
  nlohmann::ordered_json schedule = nlohmann::ordered_json::object();  // LearningRateSchedule::state()
  // By name, from evaluating these weights on the validation part, or without one on the test examples.
  // Empty: they were not evaluated.
  std::map<std::string, double> metrics;
  std::string suspicion;    // why the tensors may be corrupt; empty: no suspicion
  double pass_seconds = 0;  // what the current pass took so far, in this process and those before it
  // The objective's sums by name (ObjectiveInfo::sum_names()): over the current pass so far, and over those
  // of its steps that were not reported yet. Empty if there are no such steps.
  std::map<std::string, double> pass_sums;
  std::map<std::string, double> window_sums;
  nlohmann::ordered_json callbacks = nlohmann::ordered_json::object();  // the state of each callback, by kind
  int64_t replicas = 1;
  std::string spec;     // the complete resolved spec, as print_spec() prints it
  std::string dataset;  // DatasetInfo::name, that of the fallback if it was used; empty: not known
  std::string content;  // DatasetInfo::content; empty: the data was not at an address
  std::string table;    // saved_text() of the data; empty: an older version saved it, of no arrays or table
  std::string dtrain;   // the versions that saved the checkpoint
  std::string libtorch;
  std::string arithmetic;  // arithmetic_of() the job (plan/planned_step.h); empty: not known

  bool operator==(const TrainingState&) const = default;
};

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

// The state as JSON, as it is stored in the manifest.
nlohmann::ordered_json to_json(const TrainingState& state);

// The reverse of to_json(). Throws std::exception if a member is missing or has another type.
TrainingState training_state_from(const nlohmann::json& json);

// Describes which of the state's numbers are impossible, alone or together. Empty: all are possible.
std::string problem_of(const TrainingState& state);

struct Manifest {
  TrainingState state;
  // By file name; always both files. Of a program, `header` is the checksum of the whole file.
  std::map<std::string, FileChecksums> files;
};

// The manifest as text: JSON whose last line is the checksum of everything before it. Throws Error(kBug) if
// the state has numbers that parse_manifest() would refuse.
std::string manifest_text(const Manifest& manifest);

// The reverse of manifest_text(). Throws an Error(kCheckpoint) that begins with `what` if even one bit
// differs from what was written, or if another program wrote the text and its content is impossible.
Manifest parse_manifest(const std::string& text, const std::string& what);

// The path of the file `name` in the checkpoint at `path`. Throws Error(kCheckpoint) if it is a symbolic
// link, whose target was not saved with the checkpoint. The checkpoint's folder itself may be one.
std::filesystem::path plain_file(const std::filesystem::path& path, const std::string& name);

// Reads the manifest of the checkpoint at `path`. Throws Error(kCheckpoint).
Manifest read_manifest(const std::filesystem::path& path);

}  // namespace dtrain
