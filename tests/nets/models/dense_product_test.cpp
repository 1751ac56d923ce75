// Dense layers under autograd against LibTorch's in float64.
#include "models/products.h"

#include <cmath>
#include <limits>

#include "models/tensors.h"

namespace dtrain {
namespace {

// The largest difference relative to the largest number.
double relative(const at::Tensor& actual, const at::Tensor& exact) {
  if (exact.numel() == 0) return 0;
  return difference(actual.to(at::kDouble), exact) / std::max(exact.abs().max().item<double>(), 1e-30);
}

TEST_CASE("a dense layer in float32 agrees with float64, forward and backward, at odd sizes") {
  for (const auto& [examples, inputs, outputs] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {64, 784, 256}, {1, 401, 33}, {7, 3, 1}, {300, 20, 10}}) {
    INFO(examples << " of " << inputs << " to " << outputs);
    for (const bool has_bias : {false, true}) {
      const at::Tensor slope = noise({examples, outputs}, 4);
      std::vector<at::Tensor> exact = {noise({examples, inputs}, 1), noise({outputs, inputs}, 2)}, single;
      if (has_bias) exact.push_back(noise({outputs}, 3));
      for (at::Tensor& each : exact) {
        single.push_back(each.to(at::kFloat).requires_grad_());
        each = single.back().detach().to(at::kDouble).requires_grad_();
      }
      const at::Tensor y = dense_product(single[0], single[1], has_bias ? single[2] : at::Tensor());
      const at::Tensor y64 = at::linear(exact[0], exact[1], has_bias ? exact[2] : at::Tensor());
      CHECK(relative(y.detach(), y64.detach()) < 1e-5);
      (y * slope.to(at::kFloat)).sum().backward();
      (y64 * slope).sum().backward();
      for (size_t i = 0; i < exact.size(); ++i) CHECK(relative(single[i].grad(), exact[i].grad()) < 1e-5);
    }
  }
}

TEST_CASE("a dense layer computes the gradients that are wanted, and takes what lies otherwise in memory") {
  const at::Tensor x = noise({6, 5}).to(at::kFloat), w = noise({4, 5}, 2).to(at::kFloat).requires_grad_();
  dense_product(x, w, {}).sum().backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(w.grad().sizes() == w.sizes());
  const at::Tensor turned = noise({5, 6}).to(at::kFloat).t();
  CHECK(at::allclose(dense_product(turned, w, {}), at::linear(turned, w), 1e-5, 1e-6));
  const at::Tensor row = noise({5}).to(at::kFloat);
  CHECK(at::allclose(dense_product(row, w, {}), at::linear(row, w), 1e-5, 1e-6));
  const at::NoGradGuard no_grad;
  CHECK_FALSE(dense_product(x, w, {}).requires_grad());
}

TEST_CASE("not-a-number and infinity pass through a dense layer and its gradients") {
  const float value =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  at::Tensor x = noise({20, 300}).to(at::kFloat);
  x[3][299] = value;
  const at::Tensor w = (noise({40, 300}, 2).abs() + 0.1).to(at::kFloat).requires_grad_();
  const at::Tensor y = dense_product(x, w, {});
  CHECK(y.isfinite().sum().item<int64_t>() == 19 * 40);
  CHECK_FALSE(y[3].isfinite().any().item<bool>());
  y.sum().backward();
  CHECK_FALSE(w.grad().select(1, 299).isfinite().any().item<bool>());
  CHECK(w.grad().narrow(1, 0, 299).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace dtrain
