// The phases of a training: which layers each one trains, for how long and with which learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "job_file/load.h"
#include "models/layers.h"
#include "models/model.h"
#include "optim/learning_rate.h"
#include "spec/spec.h"

namespace dtrain {

// Where features are kept besides the memory that the replicas of a host share.
enum class FeatureFile {
  kNone,
  kIfSlow,  // in a file for later runs, if computing them has taken a while
  kAlways,
};

// "none", "if_slow" or "always".
std::string name_of(FeatureFile file);

// The features of a phase: the outputs of the frozen first layers for every example, computed once and kept.
struct FeaturePlan {
  int64_t layers = 0;   // how many of the model's layers compute them; 0: nothing is kept
  int64_t numbers = 0;  // of an example
  int64_t bytes = 0;    // of all examples that are trained on or evaluated
  std::string reason;   // why nothing is kept although layers at the beginning are frozen; empty: other cases
  FeatureFile file = FeatureFile::kNone;
  std::string no_file;  // why there is no file although the phase asks for one; empty: other cases

  // Whether a host may keep them: each decides for itself, by its memory. The same on all hosts.
  bool may_be_kept() const { return layers > 0 || !reason.empty(); }
};

struct PhasePlan {
  int64_t index = 0;           // among the phases of the run
  std::string name;            // the spec's, or its number from 1; empty: the spec has no phases
  int64_t first_step = 0;      // 0-based over the run
  int64_t steps = 0;           // optimizer steps
  LearningRate learning_rate;  // its steps are counted from the phase's first
  TrainedLayers layers;        // those that are trained; `first` is FeaturePlan::layers
  int64_t parameters = 0;      // that are trained
  FeaturePlan features;
};

// How long a run is, and what each of its updates is made of.
struct RunLength {
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
  int64_t update_batch = 0;  // examples of one update
};

// How many optimizer steps the spec's phases, or its epochs, take.
int64_t steps_of(const JobSpec& spec, int64_t steps_per_epoch);

// Adds to the problems what is wrong with the spec's phases: names that no layer has, or nothing to train.
void check_phases(LoadedSpec& loaded, const LayerPlan& model);
// The same for entries of train.optimizers that name no parameter.
void check_optimizers(LoadedSpec& loaded, const LayerPlan& plan);

// The phases of a run of a job whose phases have no problems. They cover the run, and are at least one.
std::vector<PhasePlan> phases_of(const JobSpec& spec, const DatasetInfo& data, const LayerPlan& model,
                                 const RunLength& run);

// "phase 2 of 3 (head)", or "phase 2 of 3" if it has no name but its number.
std::string phase_title(const std::vector<PhasePlan>& phases, const PhasePlan& phase);

}  // namespace dtrain
