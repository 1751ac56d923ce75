// The common parts of elementwise layers.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/elementwise.h"
#include "layers/faces.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {

// The output has the input's shape.
inline LayerSizes place_elementwise(const LayerSpec& /*spec*/, const Shape& input) { return {input}; }

// A module that is a function of its input.
using ModuleFunction = at::Tensor (*)(const at::Tensor& input);
template <ModuleFunction kFunction>
struct FunctionLayer final : Layer {
  explicit FunctionLayer(const PlacedLayer& /*layer*/) {}
  at::Tensor forward(const at::Tensor& input) override { return kFunction(input); }
};

inline int64_t numbers_of(const LayerWork& work) { return work.examples * work.outputs; }

// Computes `numbers` numbers by an operation of LibTorch that writes into its first tensor. Such operations
// compute the last numbers of a tensor with other instructions, which may round differently. So they get
// pieces whose size does not depend on the number of threads. (More calls cost little: the time goes into the
// function of each number.)
template <class Operation, class... From>
void in_pieces(int64_t numbers, const Operation& operation, float* result, const From*... from) {
  run_blocks((numbers + kNumbersATask - 1) / kNumbersATask, [&](int64_t number) {
    const int64_t begin = number * kNumbersATask, count = std::min(kNumbersATask, numbers - begin);
    const auto piece_of = [&](const float* data) {
      return at::from_blob(const_cast<float*>(data) + begin, {count}, at::kFloat);
    };
    at::Tensor to = piece_of(result);
    operation(to, piece_of(from)...);
  });
}

// The passes of a function whose gradient follows from its output, or from its input: kForward(output, input)
// and kBackward(input_gradient, output_gradient, output or input). Both write into their first tensor, as the
// functions of LibTorch do whose names end in _out; where there is none, write one that copies its result.
template <auto kForward, auto kBackward, bool kFromOutput = true>
constexpr LayerPasses kElementwisePasses = {
    .forward = [](const LayerWork& work) { in_pieces(numbers_of(work), kForward, work.output, work.input); },
    .backward_input =
        [](const LayerWork& work) {
          in_pieces(numbers_of(work), kBackward, work.input_gradient, work.output_gradient,
                    kFromOutput ? work.output : work.input);
        },
    .in_place = true,
    .reads_input = !kFromOutput,
    .reads_output = kFromOutput,
    .layout = ImageLayout::kEither};

// 0 where `condition` holds (never for not-a-number): the gradient where an activation is flat.
inline Value zero_where(const Value& condition, const Value& gradient) {
  return gradient.builder->select(condition, gradient.builder->like(gradient, 0), gradient);
}

}  // namespace dtrain
