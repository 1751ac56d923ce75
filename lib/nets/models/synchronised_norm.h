// Batch normalisation with statistics over the batches of several replicas.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace dtrain {

// Gathers a row of numbers from each replica into a table: own [numbers] -> [replicas, numbers]. Collective.
using GatherRows = std::function<at::Tensor(const at::Tensor& own)>;

// Per channel, over the examples (and pixels) of all replicas.
struct BatchStatistics {
  at::Tensor mean;      // [channels]
  at::Tensor variance;  // [channels], biased
};

// (input - mean) / sqrt(variance + epsilon) * weight + bias, with the statistics of all replicas' inputs,
// weighted by their numbers of examples. The gradient takes into account that a replica's input changes the
// others' outputs. Both the forward and the backward pass are collective. input: [n, channels, ...]; n may
// differ between replicas and may be 0, but not on all of them. In float64 the result equals that of one
// batch with all examples up to the last digits: means and sums of squared deviations are combined by the
// formula of Chan, Golub and LeVeque 1979 (Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances).
at::Tensor synchronised_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                             double epsilon, const GatherRows& gather, BatchStatistics& statistics);

}  // namespace dtrain
