// The learning rate of every optimizer step, and how it came about.
#pragma once

#include <cstdint>
#include <string>

#include "spec/spec.h"

namespace dtrain {

// Scaling against an explicit reference batch, never against a number of workers:
//   linear: rate x global_batch / reference_batch        (Goyal et al. 2017, arXiv:1706.02677, section 2.1)
//   sqrt:   rate x sqrt(global_batch / reference_batch)  (Krizhevsky 2014, arXiv:1404.5997, section 5)
struct LearningRate {
  double base = 0;    // as the spec says
  double factor = 1;  // of the scaling rule
  double scaled = 0;  // base x factor: the rate after warmup
  int64_t warmup_steps = 0;
  std::string derivation;  // "0.001 x 128/64 (linear) = 0.002"

  // The rate of optimizer step `step` (0-based): scaled x (step + 1) / warmup_steps during warmup, then
  // scaled.
  double at(int64_t step) const;
};

LearningRate resolve_learning_rate(const TrainSpec& spec, int64_t global_batch);

}  // namespace dtrain
