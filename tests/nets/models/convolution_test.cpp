// The convolution of conv2d where it is computed by Winograd's filtering, through autograd.
#include "models/products.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>

#include "catch.h"

namespace dtrain {
namespace {

// 3 x 3 with a stride of 1 over 10 x 9 pixels, with one row and column more of padding at their end.
const Window2d kWindow{.size = 3,
                       .stride = 1,
                       .rows = {.before = 0, .after = 1, .output = 9},
                       .columns = {.before = 0, .after = 1, .output = 8}};

struct Trained {
  at::Tensor input, weight, bias;
};

Trained trained(at::ScalarType dtype) {
  at::manual_seed(4);
  const auto leaf = [dtype](at::IntArrayRef sizes) { return at::randn(sizes).to(dtype).requires_grad_(); };
  return {leaf({8, 50, 10, 9}), leaf({64, 50, 3, 3}), leaf({64})};
}

double error_of(const at::Tensor& actual, const at::Tensor& exact) {
  REQUIRE(actual.sizes() == exact.sizes());
  return ((actual - exact).abs().max() / exact.abs().max()).item<double>();
}

at::Tensor convolved(const Trained& parts) {
  return convolution(parts.input, parts.weight, parts.bias, kWindow, /*groups=*/1);
}

TEST_CASE(
    "a convolution of many channels has the outputs and gradients of float64, in either memory format") {
  const bool channels_last = GENERATE(false, true), biased = GENERATE(false, true);
  Trained exact = trained(at::kDouble), fast = trained(at::kFloat);
  if (channels_last) {
    fast.input = fast.input.detach().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    fast.weight = fast.weight.detach().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  }
  if (!biased) exact.bias = fast.bias = at::Tensor();
  const at::Tensor expected = convolved(exact), actual = convolved(fast);
  // As only Winograd's results of such inputs are: otherwise this test would compare LibTorch with itself.
  CHECK(actual.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(error_of(actual.detach(), expected.detach()) < 1e-5);
  const at::Tensor slope = at::randn(expected.sizes());
  expected.backward(slope.to(at::kDouble));
  actual.backward(slope);
  CHECK(error_of(fast.input.grad(), exact.input.grad()) < 1e-5);
  CHECK(error_of(fast.weight.grad(), exact.weight.grad()) < 1e-5);
  CHECK(fast.weight.grad().strides() == fast.weight.strides());
  if (biased) CHECK(error_of(fast.bias.grad(), exact.bias.grad()) < 1e-5);
}

TEST_CASE("a convolution computes the gradients only that are needed") {
  Trained parts = trained(at::kFloat);
  parts.weight = parts.weight.detach();
  parts.bias = parts.bias.detach();
  convolved(parts).sum().backward();
  CHECK(parts.input.grad().defined());
  CHECK_FALSE(parts.weight.grad().defined());
  const at::NoGradGuard no_grad;
  CHECK_FALSE(convolved(parts).requires_grad());
}

TEST_CASE("the outputs of float64, of few channels and of a few examples are LibTorch's") {
  const at::NoGradGuard no_grad;
  const Trained parts = trained(at::kFloat);
  const auto same = [](const at::Tensor& x, const at::Tensor& w) {
    const std::array<int64_t, 4> sides = {0, 1, 0, 1};
    return at::equal(convolution(x, w, {}, kWindow, 1), at::conv2d(at::constant_pad_nd(x, sides), w));
  };
  CHECK(same(parts.input.to(at::kDouble), parts.weight.to(at::kDouble)));
  CHECK(same(parts.input.narrow(1, 0, 16).contiguous(), parts.weight.narrow(1, 0, 16).contiguous()));
  CHECK(same(parts.input.narrow(0, 0, 1), parts.weight));
  CHECK(same(parts.input.narrow(0, 0, 0), parts.weight));
}

}  // namespace
}  // namespace dtrain
