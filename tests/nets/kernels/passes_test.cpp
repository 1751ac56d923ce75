// Passes over numbers, and the softmax loss, against LibTorch's.
#include <cmath>
#include <limits>

#include "catch.h"
#include "kernels/adam.h"
#include "kernels/elementwise.h"
#include "kernels/matrices.h"
#include "kernels/norm.h"
#include "kernels/softmax_loss.h"

namespace dtrain {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("a rectifier and its gradient are LibTorch's, with not-a-number, infinity and zeros") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  at::Tensor x = random_matrix(1, 203, 1)[0];
  const at::Tensor g = random_matrix(1, 203, 2)[0];
  x.narrow(0, 100, 5).copy_(at::tensor({kNan, kInfinity, -kInfinity, 0.0F, -0.0F}));
  at::Tensor y = at::empty_like(x), of_x = at::empty_like(x);
  rectify(203, x.const_data_ptr<float>(), y.mutable_data_ptr<float>());
  CHECK(at::allclose(y, at::relu(x), 0, 0, /*equal_nan=*/true));
  rectify_gradient(203, y.const_data_ptr<float>(), g.const_data_ptr<float>(), of_x.mutable_data_ptr<float>());
  CHECK(at::equal(of_x, at::threshold_backward(g, y, 0)));
}

struct SoftmaxCase {
  at::Tensor logits;
  at::Tensor targets;
  double smoothing = 0;
  at::Tensor weights = {};  // of classes
};

SoftmaxSums sums_of(const SoftmaxCase& one, float scale, at::Tensor& gradient) {
  gradient = at::empty_like(one.logits);
  const SoftmaxLoss loss{one.logits.size(1), static_cast<float>(one.smoothing),
                         one.weights.defined() ? one.weights.const_data_ptr<float>() : nullptr};
  return softmax_loss(loss, one.logits.size(0), one.logits.const_data_ptr<float>(),
                      one.targets.const_data_ptr<int64_t>(), scale, gradient.mutable_data_ptr<float>());
}

TEST_CASE("the softmax loss, its gradient and its hits are those of float64, smoothed and weighed") {
  const int64_t examples = GENERATE(0, 1, 37);
  SoftmaxCase one{random_matrix(examples, 7, 1) * 5, at::arange(examples) % 7};
  one.smoothing = GENERATE(0.0, 0.3);
  if (GENERATE(false, true)) one.weights = at::tensor({1.0F, 3.0F, 0.5F, 1.0F, 0.0F, 2.0F, 1.0F});
  at::Tensor gradient;
  const SoftmaxSums sums = sums_of(one, 0.25F, gradient);

  const at::Tensor logits = one.logits.to(at::kDouble).requires_grad_();
  at::Tensor losses =
      at::cross_entropy_loss(logits, one.targets, {}, at::Reduction::None, -100, one.smoothing);
  if (one.weights.defined()) losses = losses * one.weights.to(at::kDouble).index_select(0, one.targets);
  (losses.sum() * 0.25).backward();
  CHECK(sums.loss == Approx(losses.sum().item<double>()).epsilon(1e-5).margin(1e-9));
  CHECK(relative_error(gradient, logits.grad()) < 1e-5);
  CHECK(sums.hits == one.logits.argmax(1).eq(one.targets).sum().item<int64_t>());
}

TEST_CASE("a logit that is not finite makes a loss that is not, and counts as LibTorch counts it") {
  for (const float value : {kNan, kInfinity}) {
    SoftmaxCase one{random_matrix(3, 5, 1), at::tensor(std::vector<int64_t>{0, 4, 0})};
    one.logits[1][4] = value;
    one.logits[2][0] = one.logits[2][1] = 9;  // the first of two
    at::Tensor gradient;
    const SoftmaxSums sums = sums_of(one, 1, gradient);
    CHECK_FALSE(std::isfinite(sums.loss));
    CHECK_FALSE(gradient[1].isfinite().all().item<bool>());
    CHECK(gradient[0].isfinite().all().item<bool>());
    CHECK(sums.hits == one.logits.argmax(1).eq(one.targets).sum().item<int64_t>());
  }
}

TEST_CASE("a large group of equal numbers is normalised to zeros") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const GroupSize size = {.examples = 1, .channels = 32, .groups = 1, .pixels = 224 * 224};
  const at::Tensor x = at::full({size.channels, size.pixels}, 0.9F), weight = at::ones({size.channels});
  at::Tensor kept = at::empty({size.kept()}), y = at::empty_like(x);
  normalise_groups(size, x.const_data_ptr<float>(), weight.const_data_ptr<float>(),
                   at::zeros({size.channels}).const_data_ptr<float>(), 1e-5F, kept.mutable_data_ptr<float>(),
                   y.mutable_data_ptr<float>());
  CHECK(y.abs().max().item<float>() < 0.01F);
}

TEST_CASE("an update of Adam is that of float64, with both kinds of weight decay and any instructions") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const bool decoupled = GENERATE(false, true);
  const AdamStep step{0.01, 0.9, 0.999, 1e-7, 0.1, decoupled, 7};
  const int64_t count = 133;
  const at::Tensor p = random_matrix(1, count, 1)[0], g = random_matrix(1, count, 2)[0],
                   m = random_matrix(1, count, 3)[0], v = random_matrix(1, count, 4)[0].square();
  const at::Tensor p64 = p.to(at::kDouble),
                   g64 = g.to(at::kDouble) + (decoupled ? at::zeros_like(p64) : 0.1 * p64),
                   m64 = 0.9 * m.to(at::kDouble) + 0.1 * g64,
                   v64 = 0.999 * v.to(at::kDouble) + 0.001 * g64.square(),
                   from = decoupled ? p64 * (1 - 0.01 * 0.1) : p64;
  const at::Tensor exact =
      from - 0.01 * (m64 / (1 - std::pow(0.9, 7))) / ((v64 / (1 - std::pow(0.999, 7))).sqrt() + 1e-7);
  const at::Tensor in_parts[] = {p.clone(), m.clone(), v.clone()};
  const auto update = [&](const at::Tensor& p, const at::Tensor& m, const at::Tensor& v, int64_t begin,
                          int64_t end) {
    adam_update(step, end - begin, p.mutable_data_ptr<float>() + begin, g.const_data_ptr<float>() + begin,
                m.mutable_data_ptr<float>() + begin, v.mutable_data_ptr<float>() + begin);
  };
  update(p, m, v, 0, count);
  CHECK(relative_error(p, exact) < 1e-6);
  CHECK(relative_error(m, m64) < 1e-6);
  CHECK(relative_error(v, v64) < 1e-6);
  update(in_parts[0], in_parts[1], in_parts[2], 0, 64);
  update(in_parts[0], in_parts[1], in_parts[2], 64, count);
  CHECK(at::equal(in_parts[0], p));
}

}  // namespace
}  // namespace dtrain
