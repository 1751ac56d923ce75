#include "models/pooling.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <limits>

#include "catch.h"

namespace dtrain {
namespace {

// Whole numbers in a small range, so that ties and zeros are common.
at::Tensor small_numbers(const std::vector<int64_t>& shape, at::ScalarType type) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{7});
  return at::randint(-3, 4, shape, generator, at::TensorOptions().dtype(at::kFloat)).to(type);
}

struct Result {
  at::Tensor output;
  at::Tensor gradient;
};

template <typename Function>
Result with_gradient(const at::Tensor& values, const Function& function) {
  const at::Tensor input = values.clone().requires_grad_();
  const at::Tensor output = function(input);
  const at::Tensor weights = at::arange(1, output.numel() + 1, output.options().requires_grad(false));
  (output * weights.view(output.sizes())).sum().backward();
  return {output.detach(), input.grad()};
}

TEST_CASE("pooling gives LibTorch's bits, gradients included") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const bool rectify = GENERATE(false, true);
  const auto shape = GENERATE(std::vector<int64_t>{2, 3, 8, 8}, std::vector<int64_t>{1, 1, 2, 2},
                              std::vector<int64_t>{3, 2, 7, 9}, std::vector<int64_t>{2, 5, 26, 26},
                              std::vector<int64_t>{0, 4, 6, 6}, std::vector<int64_t>{1, 2, 3, 67});
  const at::Tensor values = small_numbers(shape, type);
  const Result ours = with_gradient(values, [&](const at::Tensor& x) { return max_pool2x2(x, rectify); });
  const Result theirs = with_gradient(values, [&](const at::Tensor& x) {
    return at::max_pool2d(rectify ? at::relu(x) : x, {2, 2}, {2, 2});
  });
  CHECK(at::equal(ours.output, theirs.output));
  CHECK(at::equal(ours.gradient, theirs.gradient));
}

TEST_CASE("a gradient in another layout is understood") {
  const at::Tensor input = small_numbers({2, 3, 4, 4}, at::kFloat).requires_grad_();
  max_pool2x2(input, true).permute({0, 3, 2, 1}).mul(2).sum().backward();
  const at::Tensor expected = input.detach().clone().requires_grad_();
  at::max_pool2d(at::relu(expected), {2, 2}).mul(2).sum().backward();
  CHECK(at::equal(input.grad(), expected.grad()));
}

TEST_CASE("NaN and infinities come through") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (int position = 0; position < 4; ++position) {
    at::Tensor input = at::tensor({1.0F, -2.0F, 3.0F, 0.5F}).view({1, 1, 2, 2});
    input.view({4})[position] = nan;
    CHECK(max_pool2x2(input, false).isnan().all().item<bool>());
    CHECK(max_pool2x2(input, true).isnan().all().item<bool>());
    input.view({4})[position] = inf;
    CHECK(max_pool2x2(input, true).item<float>() == inf);
  }
  const at::Tensor lowest = at::full({1, 1, 2, 2}, -inf);
  CHECK(max_pool2x2(lowest, false).item<float>() == -inf);
  CHECK(max_pool2x2(lowest, true).item<float>() == 0);
}

}  // namespace
}  // namespace dtrain
