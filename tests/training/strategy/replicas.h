// Trains with threads as replicas, for tests of what must not depend on their number.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "spec/spec.h"
#include "strategy/strategy.h"

namespace dtrain {

// From step `step` (0-based) on, only some layers are trained.
struct PhaseChange {
  int step = 0;
  TrainedLayers layers;
};

struct TrainingResult {
  Variables variables;            // the model's
  CollectedVariables collected;   // before the evaluation: those and the rest, on rank 0
  std::vector<double> losses;     // mean over the global batch, a step each
  std::vector<int64_t> examples;  // of the global batch, a step each
  MetricValues training_metrics;  // of all steps
  double evaluation_loss = 0;     // over the whole test set
  MetricValues evaluation_metrics;
  int64_t evaluated_examples = 0;
  std::optional<double> noise_scale;  // of all steps, as spec.metrics says
  std::vector<Event> receipts;        // on rank 0, as spec.receipts says
};

// `steps` optimizer steps of the strategy in `spec` with `replicas` threads, which meet as if they were
// spread evenly over `spec.hosts`, then an evaluation. The result is that of rank 0; the variables of every
// other rank are required to be bit-identical. With `from`, which was collected after `first` steps, the
// training goes on from there; what the last step is stays. With `devices: cuda` the replicas are on
// stand-ins for GPUs, whose memory is the host's. `evaluates_between`: after every step too. `phases`, by
// step, change what is trained; `from` is of a step of the last of them that began before it.
TrainingResult train_with_threads(const JobSpec& spec, const Dataset& dataset, int replicas, int steps,
                                  const CollectedVariables* from = nullptr, int first = 0,
                                  bool evaluates_between = false,
                                  const std::vector<PhaseChange>& phases = {});

// What replicas agree on, by rank, of which each wants its own.
std::vector<Decision> agree_with_threads(const JobSpec& spec, const Dataset& dataset,
                                         const std::vector<Decision>& own);
// The same for Strategy::fewest_ready().
std::vector<int64_t> fewest_ready_with_threads(const JobSpec& spec, const Dataset& dataset,
                                               const std::vector<int64_t>& own);

// How and where replicas train.
struct Place {
  std::string kind, communication;
  int replicas = 1;
  int hosts = 1;
};
JobSpec placed(JobSpec spec, const Place& place);

// A spec for a small synthetic dataset: 8x8 images, 5 classes.
JobSpec small_spec();

// The same with another batch.
JobSpec with_batch(JobSpec spec, int64_t per_replica, int64_t accumulate_steps = 1);

// Of the same names in the same order, without NaN.
bool same_bits(const Variables& a, const Variables& b);

// The one of this name. Fails the test where there is none.
at::Tensor tensor_of(const Variables& variables, const std::string& name);

// The largest absolute difference of two lists of variables over the largest absolute value in them; not a
// number if a difference is none. Fails the test when names or shapes differ.
double relative_difference(const Variables& a, const Variables& b);

}  // namespace dtrain
