// How fast each layer of a job's model computes on this machine's processor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

// One or several layers that a step computes together.
struct LayerSpeed {
  std::string name;  // "conv2d + relu + max_pool2d"
  // Floating-point operations of products and sums in matrix products and convolutions, forward and backward,
  // for a micro-batch; 0 of a layer that has none.
  double operations = 0;
  double forward_seconds = 0;  // medians, for a micro-batch
  double backward_seconds = 0;
  double seconds() const { return forward_seconds + backward_seconds; }
};

struct ModelSpeed {
  std::string execution;  // how the layers were computed: compiled | eager
  int64_t examples = 0;   // of the micro-batch
  int64_t threads = 1;
  // Floating-point operations a second: what matrix products reach on these threads that fit into the caches.
  double peak = 0;
  std::vector<LayerSpeed> layers = {};
};

// Computes forward and backward of a micro-batch of random numbers, again and again for about a second, on as
// many threads as a replica has. Compiled layers run one after the other as in a step; eager ones each by
// itself, with autograd. Loss, update, and the exchange of gradients are no part of it. Throws Error(kUsage)
// if the job trains on GPUs or in 16 bits.
ModelSpeed measure_layers(const JobPlan& job);

}  // namespace dtrain
