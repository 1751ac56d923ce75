// Results of examples from plain numbers.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "judge/example_results.h"

namespace dtrain {

// `targets` and `outputs` example by example, as many of each as there are losses.
inline ExampleResults example_results(const std::string& loss, const std::vector<float>& losses,
                                      const std::vector<float>& targets, const std::vector<float>& outputs) {
  const auto by_example = [&](const std::vector<float>& numbers) {
    return at::tensor(numbers, at::kFloat).view({std::ssize(losses), -1});
  };
  return {.loss = loss,
          .losses = at::tensor(losses, at::kFloat),
          .targets = by_example(targets),
          .outputs = by_example(outputs)};
}

}  // namespace dtrain
