#include "compiled/layer_passes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "compiled/convolution_passes.h"
#include "compiled/norm_passes.h"
#include "compiled/pooling_passes.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

DenseSize dense_size(const LayerWork& work) { return {work.examples, work.inputs, work.outputs}; }

int64_t scratch_of_dense(const LayerWork& work) { return dense_scratch(dense_size(work)); }

void dense(const LayerWork& work) {
  dense_forward(dense_size(work), work.input, work.weight.const_data_ptr<float>(),
                work.bias.defined() ? work.bias.const_data_ptr<float>() : nullptr, work.output, work.scratch);
}

void dense_to_input(const LayerWork& work) {
  dense_backward_input(dense_size(work), work.output_gradient, work.weight.const_data_ptr<float>(),
                       work.input_gradient);
}

void dense_to_weights(const LayerWork& work, bool adds) {
  dense_backward_weights(dense_size(work), work.input, work.output_gradient, work.weight_gradient,
                         work.bias_gradient, adds, work.scratch);
}

int64_t numbers_of(const LayerWork& work) { return work.examples * work.outputs; }

void relu(const LayerWork& work) { rectify(numbers_of(work), work.input, work.output); }

void relu_to_input(const LayerWork& work) {
  rectify_gradient(numbers_of(work), work.output, work.output_gradient, work.input_gradient);
}

// The others are LibTorch's own operations: their functions of a number, not the calls, take the time. They
// compute the last numbers of what they are given with other instructions, which may round differently. So
// they get pieces of a size that has nothing to do with the number of threads.
struct Piece {
  int64_t begin;
  int64_t count;

  at::Tensor of(const float* data) const {
    return at::from_blob(const_cast<float*>(data) + begin, {count}, at::kFloat);
  }
};

template <class Work>
void in_pieces(int64_t numbers, const Work& work) {
  run_blocks((numbers + kNumbersATask - 1) / kNumbersATask, [&](int64_t number) {
    const int64_t begin = number * kNumbersATask;
    work(Piece{begin, std::min(kNumbersATask, numbers - begin)});
  });
}

void relu6(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::hardtanh_out(output, piece.of(work.input), 0, 6);
  });
}

void relu6_to_input(const LayerWork& work) {  // the result is between 0 and 6 where the input is
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor gradient = piece.of(work.input_gradient);
    at::hardtanh_backward_out(gradient, piece.of(work.output_gradient), piece.of(work.output), 0, 6);
  });
}

void gelu(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::gelu_out(output, piece.of(work.input), "none");
  });
}

void gelu_to_input(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor gradient = piece.of(work.input_gradient);
    at::gelu_backward_out(gradient, piece.of(work.output_gradient), piece.of(work.input), "none");
  });
}

void tanh(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::tanh_out(output, piece.of(work.input));
  });
}

void tanh_to_input(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor gradient = piece.of(work.input_gradient);
    at::tanh_backward_out(gradient, piece.of(work.output_gradient), piece.of(work.output));
  });
}

void sigmoid(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::sigmoid_out(output, piece.of(work.input));
  });
}

void sigmoid_to_input(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor gradient = piece.of(work.input_gradient);
    at::sigmoid_backward_out(gradient, piece.of(work.output_gradient), piece.of(work.output));
  });
}

// Draws what at::dropout would draw from the same generator.
void dropout(const LayerWork& work) {
  const double rate = work.layer->spec.rate;
  at::Tensor noise = work.view({work.outputs}, work.kept);
  if (rate == 0 || work.examples == 0) {
    noise.fill_(1);
  } else {
    noise.bernoulli_(1 - rate).div_(1 - rate);
  }
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::mul_out(output, piece.of(work.input), piece.of(work.kept));
  });
}

void dropout_to_input(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor gradient = piece.of(work.input_gradient);
    at::mul_out(gradient, piece.of(work.output_gradient), piece.of(work.kept));
  });
}

void add(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    at::Tensor output = piece.of(work.output);
    at::add_out(output, piece.of(work.input), piece.of(work.with));
  });
}

void add_to_inputs(const LayerWork& work) {
  in_pieces(numbers_of(work), [&](const Piece& piece) {
    const at::Tensor gradient = piece.of(work.output_gradient);
    for (float* const place : {work.input_gradient, work.with_gradient}) {
      if (place != nullptr && place != work.output_gradient) piece.of(place).copy_(gradient);
    }
  });
}

const std::vector<LayerPasses> kPasses = {
    {.kind = "add", .forward = add, .backward_input = add_to_inputs, .in_place = true},
    {.kind = "flatten"},
    {.kind = "dense",
     .forward = dense,
     .backward_input = dense_to_input,
     .backward_weights = dense_to_weights,
     .scratch = scratch_of_dense},
    {.kind = "relu",
     .forward = relu,
     .backward_input = relu_to_input,
     .in_place = true,
     .reads_output = true},
    {.kind = "relu6",
     .forward = relu6,
     .backward_input = relu6_to_input,
     .in_place = true,
     .reads_output = true},
    {.kind = "gelu", .forward = gelu, .backward_input = gelu_to_input, .in_place = true, .reads_input = true},
    {.kind = "tanh",
     .forward = tanh,
     .backward_input = tanh_to_input,
     .in_place = true,
     .reads_output = true},
    {.kind = "sigmoid",
     .forward = sigmoid,
     .backward_input = sigmoid_to_input,
     .in_place = true,
     .reads_output = true},
    {.kind = "dropout",
     .forward = dropout,
     .backward_input = dropout_to_input,
     .in_place = true,
     .only_in_training = true,
     .kept = numbers_of},
};

// Whether only the next layer reads what layer `number` makes.
bool is_read_by_next(const std::vector<PlacedLayer>& layers, size_t number) {
  const auto made = static_cast<int64_t>(number);
  const auto reads = [made](const PlacedLayer& layer) { return layer.input == made || layer.with == made; };
  return layers[number + 1].input == made && std::count_if(layers.begin(), layers.end(), reads) == 1;
}

}  // namespace

at::Tensor LayerWork::view(const Shape& shape, const float* data) const {
  at::DimVector sizes{examples};
  sizes.append(shape.begin(), shape.end());
  return at::from_blob(const_cast<float*>(data), sizes, at::kFloat);
}

bool are_chained(const std::vector<PlacedLayer>& layers, size_t first, size_t count) {
  if (first + count > layers.size()) return false;
  for (size_t i = first; i + 1 < first + count; ++i) {
    if (!is_read_by_next(layers, i)) return false;
  }
  return true;
}

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  for (const auto match : {match_convolution, match_pooling, match_norm}) {
    const LayerMatch matched = match(layers, first);
    if (matched.passes != nullptr) return matched;
  }
  for (const LayerPasses& passes : kPasses) {
    if (passes.kind == layers[first].spec.kind) return {&passes};
  }
  return {};
}

}  // namespace dtrain
