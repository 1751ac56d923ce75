// The gradient of a convolution's weight by products of patches against LibTorch's in float64.
#include "convolutions/patches.h"

#include <ATen/Parallel.h>

#include <limits>

#include "catch.h"
#include "kernels/matrices.h"

namespace dtrain {
namespace {

struct PatchCase {
  ConvSize conv;
  int64_t padded_below, padded_right;
};

PatchCase patch_case(int64_t examples, int64_t channels, int64_t height, int64_t width, int64_t filters,
                     int64_t kernel, int64_t stride, std::vector<int64_t> padding) {
  const int64_t rows = (height + padding[0] + padding[1] - kernel) / stride + 1;
  const int64_t columns = (width + padding[2] + padding[3] - kernel) / stride + 1;
  return {{examples, channels, height, width, filters, kernel, stride, padding[0], padding[2], rows, columns},
          padding[1],
          padding[3]};
}

// Strides, padding of one side, none and more than the kernel, one pixel, several products and one.
std::vector<PatchCase> patch_cases() {
  return {patch_case(2, 3, 8, 7, 5, 3, 1, {1, 1, 1, 1}),     patch_case(3, 16, 9, 9, 32, 3, 2, {0, 1, 0, 1}),
          patch_case(2, 5, 6, 8, 7, 1, 2, {0, 0, 0, 0}),     patch_case(1, 2, 4, 4, 3, 5, 1, {2, 2, 2, 2}),
          patch_case(2, 1, 3, 2, 4, 2, 1, {3, 0, 0, 4}),     patch_case(1, 4, 1, 1, 1, 1, 1, {0, 0, 0, 0}),
          patch_case(40, 33, 16, 15, 17, 3, 1, {1, 1, 1, 1})};
}

struct PatchProblem {
  at::Tensor x, slope;  // channels last
};

PatchProblem problem_of(const ConvSize& conv) {
  at::manual_seed(5);
  const auto images = [](at::IntArrayRef sizes) {
    return at::randn(sizes).contiguous(at::MemoryFormat::ChannelsLast);
  };
  return {images({conv.examples, conv.channels, conv.height, conv.width}),
          images({conv.examples, conv.filters, conv.rows, conv.columns})};
}

// [filters, channels, kernel, kernel]. What is not written stays not-a-number.
at::Tensor gradient_of(const ConvSize& conv, const PatchProblem& problem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  at::Tensor scratch = at::full({patches_scratch(conv)}, nan);
  at::Tensor gradient = at::full({conv.filters, conv.kernel, conv.kernel, conv.channels}, nan);
  patches_backward_weights(conv, problem.x.const_data_ptr<float>(), problem.slope.const_data_ptr<float>(),
                           gradient.mutable_data_ptr<float>(), scratch.mutable_data_ptr<float>());
  return gradient.permute({0, 3, 1, 2});
}

TEST_CASE("the gradient of a weight by patches agrees with float64") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const PatchCase& each : patch_cases()) {
    const ConvSize& conv = each.conv;
    INFO(to_string(instructions()) << ": " << conv.channels << " channels of " << conv.height << " x "
                                   << conv.width << ", " << conv.filters << " filters of " << conv.kernel);
    const PatchProblem problem = problem_of(conv);
    const at::Tensor w =
        at::zeros({conv.filters, conv.channels, conv.kernel, conv.kernel}, at::kDouble).requires_grad_();
    const at::Tensor padded =
        at::constant_pad_nd(problem.x.to(at::kDouble),
                            {conv.padded_left, each.padded_right, conv.padded_above, each.padded_below});
    at::conv2d(padded, w, {}, conv.stride).backward(problem.slope.to(at::kDouble));
    CHECK(relative_error(gradient_of(conv, problem), w.grad()) < 3e-6);
  }
}

TEST_CASE("the number of threads changes no bit of a gradient by patches") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const ConvSize conv = patch_case(40, 33, 16, 15, 65, 3, 2, {1, 1, 1, 1}).conv;
  const PatchProblem problem = problem_of(conv);
  const auto with = [&](int threads) {
    const WithThreads with_threads(threads);
    return gradient_of(conv, problem);
  };
  CHECK(at::equal(with(1), with(3)));
}

}  // namespace
}  // namespace dtrain
