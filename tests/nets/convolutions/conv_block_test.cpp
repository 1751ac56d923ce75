// A convolution with its rectifier and maximum against LibTorch's layers in float64.
#include "convolutions/conv_block.h"

#include <ATen/Parallel.h>

#include <limits>

#include "catch.h"
#include "kernels/matrices.h"

namespace dtrain {
namespace {

ConvSize block_of(int64_t examples, int64_t channels, int64_t side, int64_t filters, int64_t kernel,
                  int64_t stride, int64_t above, int64_t below) {
  const int64_t size = (side + above + below - kernel) / stride + 1;
  return {.examples = examples,
          .channels = channels,
          .height = side,
          .width = side,
          .filters = filters,
          .kernel = kernel,
          .stride = stride,
          .padded_above = above,
          .padded_left = above,
          .rows = size,
          .columns = size};
}

struct BlockCase {
  ConvSize block;
  int64_t below;  // padding at the bottom and on the right
};

const std::vector<BlockCase>& block_cases() {
  static const std::vector<BlockCase> cases = {
      {block_of(9, 1, 28, 32, 3, 1, 0, 0), 0}, {block_of(2, 3, 9, 5, 3, 1, 1, 1), 1},
      {block_of(1, 2, 12, 17, 5, 2, 2, 2), 2}, {block_of(3, 4, 7, 3, 2, 1, 0, 1), 1},
      {block_of(17, 2, 5, 16, 1, 1, 0, 0), 0}, {block_of(2, 1, 11, 4, 4, 3, 1, 2), 2},
      {block_of(0, 3, 8, 4, 3, 1, 1, 1), 1},   {block_of(9, 3, 10, 48, 3, 1, 1, 1), 1},
      {block_of(5, 2, 11, 16, 5, 1, 2, 2), 2}, {block_of(1, 1, 6, 32, 5, 1, 0, 1), 1},
      {block_of(3, 17, 6, 16, 3, 1, 1, 1), 1}, {block_of(2, 16, 7, 96, 3, 1, 1, 1), 1},
      {block_of(2, 32, 9, 16, 5, 1, 0, 0), 0}, {block_of(1, 48, 6, 112, 3, 1, 0, 0), 0},
  };
  return cases;
}

struct BlockRun {
  at::Tensor output, of_input, of_weight, of_bias;
};

const float* numbers(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

BlockRun run_block(const ConvSize& block, const at::Tensor& x, const at::Tensor& w, const at::Tensor& b,
                   const at::Tensor& slope, bool adds = false) {
  at::Tensor scratch = at::full({conv_block_scratch(block)}, std::numeric_limits<float>::quiet_NaN());
  at::Tensor argmaxes = at::full({conv_block_argmaxes(block)}, -1, at::kInt);
  BlockRun run{at::empty_like(slope), at::full_like(x, 7), at::full_like(w, adds ? 1 : 7),
               at::full_like(b, adds ? 1 : 7)};
  float* const memory = scratch.mutable_data_ptr<float>();
  auto* const who = argmaxes.mutable_data_ptr<int32_t>();
  conv_block_forward(block, numbers(x), numbers(w), numbers(b), run.output.mutable_data_ptr<float>(), who,
                     memory);
  conv_block_backward_weights(block, numbers(x), numbers(slope), who, run.of_weight.mutable_data_ptr<float>(),
                              run.of_bias.mutable_data_ptr<float>(), adds, memory);
  conv_block_backward_input(block, numbers(slope), who, numbers(w), run.of_input.mutable_data_ptr<float>(),
                            memory);
  return run;
}

struct BlockTensors {
  at::Tensor x, w, b, slope;
  explicit BlockTensors(const ConvSize& block) {
    at::manual_seed(1);
    x = at::randn({block.examples, block.channels, block.height, block.width});
    w = at::randn({block.filters, block.channels, block.kernel, block.kernel});
    b = at::randn({block.filters});
    slope = at::randn({block.examples, block.filters, block.rows / 2, block.columns / 2});
  }
};

TEST_CASE("a block of conv2d, relu and maximum agrees with float64, with any size, stride and padding") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const auto& [block, below] : block_cases()) {
    INFO(to_string(instructions()) << ": " << block.examples << " of " << block.channels << " x "
                                   << block.height << ", kernel " << block.kernel << ", stride "
                                   << block.stride);
    const BlockTensors of(block);
    std::vector<at::Tensor> exact;
    for (const at::Tensor& each : {of.x, of.w, of.b}) exact.push_back(each.to(at::kDouble).requires_grad_());
    const at::Tensor padded =
        at::constant_pad_nd(exact[0], {block.padded_left, below, block.padded_above, below});
    const at::Tensor y =
        at::max_pool2d(at::relu(at::conv2d(padded, exact[1], exact[2], block.stride)), {2, 2}, {2, 2});
    (y * of.slope.to(at::kDouble)).sum().backward();
    for (const bool adds : {false, true}) {
      const BlockRun run = run_block(block, of.x, of.w, of.b, of.slope, adds);
      CHECK(relative_error(run.output, y.detach()) < 1e-5);
      CHECK(relative_error(run.of_input, exact[0].grad()) < 1e-5);
      CHECK(relative_error(run.of_weight, exact[1].grad() + (adds ? 1 : 0)) < 1e-5);
      CHECK(relative_error(run.of_bias, exact[2].grad() + (adds ? 1 : 0)) < 1e-5);
    }
  }
}

TEST_CASE(
    "a block has room for as many images at once as there are, and for products only where it has some") {
  const auto room = [](int64_t examples, int64_t channels) {
    return conv_block_scratch(block_of(examples, channels, 64, 16, 5, 1, 2, 2));
  };
  CHECK(room(1, 15) < room(8, 15) / 7);
  CHECK(room(8, 15) == room(64, 15));
  CHECK(room(8, 15) > 8 * 64 * 64 * 15 * 25);
  CHECK(room(8, 16) < 8 * 64 * 64 * (3 * 16 + 16));  // two images with padding, and the maxima
}

TEST_CASE("the number of threads changes no bit of a block") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const ConvSize block = block_cases().at(GENERATE(range(0UL, block_cases().size()))).block;
  const BlockTensors of(block);
  const auto run_with = [&](int threads) {
    const WithThreads with_threads(threads);
    return run_block(block, of.x, of.w, of.b, of.slope);
  };
  const BlockRun one = run_with(1), three = run_with(3);
  CHECK(at::equal(one.output, three.output));
  CHECK(at::equal(one.of_input, three.of_input));
  CHECK(at::equal(one.of_weight, three.of_weight));
  CHECK(at::equal(one.of_bias, three.of_bias));
}

TEST_CASE("not-a-number wins the maximum of a block, and its gradient passes") {
  const ConvSize block = block_of(1, 1, 4, 1, 1, 1, 0, 0);
  at::Tensor x = at::ones({1, 1, 4, 4});
  x[0][0][1][0] = std::numeric_limits<float>::quiet_NaN();
  x[0][0][2][3] = std::numeric_limits<float>::infinity();
  const BlockRun run = run_block(block, x, at::ones({1, 1, 1, 1}), at::zeros({1}), at::ones({1, 1, 2, 2}));
  CHECK(run.output.isnan().sum().item<int64_t>() == 1);
  CHECK(run.output[0][0][0][0].isnan().item<bool>());
  CHECK(run.output.isinf().sum().item<int64_t>() == 1);
  CHECK(run.of_weight.isnan().all().item<bool>());
  CHECK(run.of_input[0][0][1][0].item<float>() == 1);

  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const ConvSize direct = block_of(1, 1, 4, 16, 3, 1, 0, 0);
  const BlockRun wide =
      run_block(direct, x, at::ones({16, 1, 3, 3}), at::zeros({16}), at::ones({1, 16, 1, 1}));
  CHECK(wide.output.isnan().all().item<bool>());
  CHECK(wide.of_weight.isnan().any(1).any(1).any(1).all().item<bool>());

  // Of one filter only, because of a weight, or of weights whose products have no sum.
  at::Tensor w = at::ones({16, 1, 3, 3});
  w[5][0][2][1] = -std::numeric_limits<float>::quiet_NaN();
  w[7][0][0][0] = std::numeric_limits<float>::infinity();
  w[7][0][0][1] = -std::numeric_limits<float>::infinity();
  const BlockRun some =
      run_block(direct, at::ones({1, 1, 4, 4}), w, at::zeros({16}), at::ones({1, 16, 1, 1}));
  CHECK(at::equal(some.output.isnan().flatten().nonzero().flatten(), at::tensor({5, 7}, at::kLong)));
}

}  // namespace
}  // namespace dtrain
