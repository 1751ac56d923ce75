// Convolutions by Winograd's filtering against LibTorch's in float64.
#include "convolutions/winograd.h"

#include <ATen/Parallel.h>

#include <limits>

#include "catch.h"
#include "kernels/matrices.h"

namespace dtrain {
namespace {

struct Sides {
  int64_t above, below, left, right;
};

struct ConvCase {
  int64_t examples, channels, height, width, filters;
  Sides padding;
};

// Odd and even results, one row or column, padding of one side, none and much, channels that fill no vector.
const std::vector<ConvCase>& conv_cases() {
  static const std::vector<ConvCase> cases = {
      {2, 3, 6, 6, 5, {1, 1, 1, 1}},    {1, 16, 7, 9, 17, {0, 0, 0, 0}}, {3, 8, 5, 4, 16, {0, 1, 1, 0}},
      {2, 20, 3, 3, 9, {0, 0, 0, 0}},   {1, 1, 4, 8, 1, {2, 2, 2, 2}},   {5, 33, 3, 8, 7, {1, 1, 0, 0}},
      {40, 64, 8, 8, 48, {1, 1, 1, 1}}, {1, 4, 5, 5, 4, {4, 0, 0, 3}},
  };
  return cases;
}

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

at::Tensor random_images(at::IntArrayRef sizes) { return at::randn(sizes).contiguous(kChannelsLast); }

const float* data_in(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

struct ConvRun {
  at::Tensor output, of_input, of_weight;
};

// Every number that is not written stays not-a-number, and so does every one that is made from scratch.
ConvRun run_winograd(const ConvSize& conv, const at::Tensor& x, const at::Tensor& w, const at::Tensor& b,
                     const at::Tensor& slope) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  at::Tensor scratch = at::full({winograd_scratch(conv)}, nan);
  float* const memory = scratch.mutable_data_ptr<float>();
  ConvRun run{at::full_like(slope, nan), at::full_like(x, nan), at::full_like(w, nan)};
  winograd_forward(conv, data_in(x), data_in(w), data_in(b), run.output.mutable_data_ptr<float>(), memory);
  scratch.fill_(nan);
  winograd_backward_input(conv, data_in(slope), data_in(w), run.of_input.mutable_data_ptr<float>(), memory);
  scratch.fill_(nan);
  winograd_backward_weights(conv, data_in(x), data_in(slope), run.of_weight.mutable_data_ptr<float>(),
                            memory);
  return run;
}

struct Problem {
  ConvSize conv;
  at::Tensor x, w, b, slope;
};

Problem problem_of(const ConvCase& each) {
  at::manual_seed(3);
  const int64_t rows = each.height + each.padding.above + each.padding.below - 2;
  const int64_t columns = each.width + each.padding.left + each.padding.right - 2;
  return {{each.examples, each.channels, each.height, each.width, each.filters, /*kernel=*/3, /*stride=*/1,
           each.padding.above, each.padding.left, rows, columns},
          random_images({each.examples, each.channels, each.height, each.width}),
          random_images({each.filters, each.channels, 3, 3}),
          at::randn({each.filters}),
          random_images({each.examples, each.filters, rows, columns})};
}

TEST_CASE("Winograd's convolution and both its gradients agree with float64") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const ConvCase& each : conv_cases()) {
    INFO(to_string(instructions()) << ": " << each.channels << " channels of " << each.height << " x "
                                   << each.width << ", " << each.filters << " filters");
    const Problem problem = problem_of(each);
    const ConvRun run = run_winograd(problem.conv, problem.x, problem.w, problem.b, problem.slope);
    const at::Tensor x = problem.x.to(at::kDouble).requires_grad_(),
                     w = problem.w.to(at::kDouble).requires_grad_();
    const Sides& sides = each.padding;
    const at::Tensor exact =
        at::conv2d(at::constant_pad_nd(x, {sides.left, sides.right, sides.above, sides.below}), w,
                   problem.b.to(at::kDouble));
    exact.backward(problem.slope.to(at::kDouble));
    CHECK(relative_error(run.output, exact.detach()) < 3e-6);
    CHECK(relative_error(run.of_input, x.grad()) < 3e-6);
    CHECK(relative_error(run.of_weight, w.grad()) < 3e-6);
  }
}

TEST_CASE("Winograd's convolution of no examples has a gradient of zeros") {
  const Problem problem = problem_of({0, 5, 6, 6, 4, {1, 1, 1, 1}});
  const ConvRun run = run_winograd(problem.conv, problem.x, problem.w, problem.b, problem.slope);
  CHECK(at::equal(run.of_weight, at::zeros_like(problem.w)));
}

TEST_CASE("not-a-number and infinity in an image do not vanish in Winograd's convolution") {
  Problem problem = problem_of({2, 4, 6, 6, 3, {1, 1, 1, 1}});
  problem.x[1][2][3][3] =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const ConvRun run = run_winograd(problem.conv, problem.x, problem.w, problem.b, problem.slope);
  CHECK_FALSE(at::isfinite(run.output[1].select(1, 3).select(1, 3)).any().item<bool>());
  CHECK(at::isfinite(run.output[0]).all().item<bool>());
  CHECK_FALSE(at::isfinite(run.of_weight.select(1, 2)).any().item<bool>());
}

TEST_CASE("the number of threads changes no bit of Winograd's convolution") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const Problem problem = problem_of({40, GENERATE(64, 51), 16, 16, 96, {1, 1, 1, 1}});
  const auto run_with = [&](int threads) {
    const WithThreads with_threads(threads);
    return run_winograd(problem.conv, problem.x, problem.w, problem.b, problem.slope);
  };
  const ConvRun one = run_with(1), three = run_with(3);
  CHECK(at::equal(one.output, three.output));
  CHECK(at::equal(one.of_input, three.of_input));
  CHECK(at::equal(one.of_weight, three.of_weight));
}

}  // namespace
}  // namespace dtrain
