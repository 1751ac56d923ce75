// Normalisation by statistics over the batches of several replicas.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace dtrain {

// A table with a row of numbers from each replica: own [numbers] -> [replicas, numbers]. Collective.
using GatherRows = std::function<at::Tensor(const at::Tensor& own)>;

// Over the examples (and pixels) of all replicas, per channel.
struct BatchStatistics {
  at::Tensor mean;      // [channels]
  at::Tensor variance;  // [channels], biased
};

// (input - mean) / sqrt(variance + epsilon) * weight + bias, with the statistics of all replicas' inputs,
// each with the weight of its examples, and the gradient of that: a replica's input changes the others'
// outputs. Collective, and so is its backward pass; input [n, channels, ...], where n may differ and be 0,
// but not everywhere. In float64 the same as one batch of all to the last digits: means and sums of squared
// deviations are joined by the formula of Chan, Golub and LeVeque 1979 (Updating Formulae and a Pairwise
// Algorithm for Computing Sample Variances).
at::Tensor synchronised_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                             double epsilon, const GatherRows& gather, BatchStatistics& statistics);

}  // namespace dtrain
