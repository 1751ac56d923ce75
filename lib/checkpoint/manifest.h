// manifest.json: what a checkpoint is of, and the checksums of its other files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace dtrain {

// Where a training stands, besides its tensors.
struct TrainingState {
  std::string run = "distributed";  // as in the events
  int64_t epoch = 0;                // passes over the training examples that are complete
  int64_t step = 0;                 // optimizer steps done since the run began
  int64_t position = 0;             // examples of the pass under way that were trained on
  int64_t train_examples = 0;       // of a pass
  int64_t global_batch = 0;         // examples of a step
  double learning_rate = 0;         // of the last step
  nlohmann::ordered_json schedule = nlohmann::ordered_json::object();  // LearningRateSchedule::state()
  std::map<std::string, double> metrics;  // by name, of an evaluation of these very weights; or none
  std::string suspicion;                  // why the tensors may be corrupt; empty: nothing speaks for it
  // The objective's sums by name (ObjectiveInfo::sum_names()) over the pass under way so far, and over the
  // steps of it that were not reported yet; empty where there is no such step.
  std::map<std::string, double> pass_sums;
  std::map<std::string, double> window_sums;
  nlohmann::ordered_json callbacks = nlohmann::ordered_json::object();  // what each remembers, by kind
  int64_t replicas = 1;
  std::string spec;    // all of it, resolved, as print_spec() prints it
  std::string dtrain;  // the versions that saved it
  std::string libtorch;

  bool operator==(const TrainingState&) const = default;
};

constexpr const char* kManifestFile = "manifest.json";
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

// As it stands in the manifest.
nlohmann::ordered_json to_json(const TrainingState& state);

// The reverse. Throws std::exception when something is missing or of another type.
TrainingState training_state_from(const nlohmann::json& json);

// Which of the state's numbers no training comes to, by itself or beside the others, in words; empty when all
// are sound.
std::string problem_of(const TrainingState& state);

struct Manifest {
  TrainingState state;
  std::map<std::string, FileChecksums> files;  // by name, always both
};

// The manifest as text: JSON whose last line is the checksum of everything before it. Throws Error(kBug) when
// a reader would refuse it for the numbers of its state.
std::string manifest_text(const Manifest& manifest);

// The reverse. Throws Error(kCheckpoint), beginning with `what`, when a single bit of it is not as it was
// written, and when it was written by somebody else and makes no sense.
Manifest parse_manifest(const std::string& text, const std::string& what);

// The file `name` of the checkpoint at `path`. Throws Error(kCheckpoint) when it is a symbolic link: what
// that leads to was not saved there. The checkpoint's folder may be one.
std::filesystem::path plain_file(const std::filesystem::path& path, const std::string& name);

// That of the checkpoint at `path`. Throws Error(kCheckpoint).
Manifest read_manifest(const std::filesystem::path& path);

}  // namespace dtrain
