#include "optim/weight_average.h"

#include <ATen/ATen.h>

#include "catch.h"

namespace dtrain {
namespace {

struct Averaged {
  at::Tensor parameter = at::tensor({1.0, -2.0}, at::kDouble).requires_grad_();
  WeightAverage optimizer{make_optimizer(
                              [] {
                                OptimizerSpec spec;
                                spec.kind = "sgd";
                                return spec;
                              }(),
                              {parameter}),
                          {parameter},
                          0.9};
  void step(double gradient) {
    parameter.mutable_grad() = at::full({2}, gradient, at::kDouble);
    optimizer.step(0.1);
  }
  double value() const { return parameter.detach()[0].item<double>(); }
  double other() const { return optimizer.memory().back().tensors[0][0].item<double>(); }
};

TEST_CASE("the average begins with the parameters and follows them") {
  Averaged averaged;
  {
    const at::NoGradGuard no_grad;
    averaged.parameter.fill_(3);  // where a training begins is known later
  }
  averaged.optimizer.begin();
  double p = 3, a = 3;
  for (int i = 1; i <= 4; ++i) {
    averaged.step(i);
    p -= 0.1 * i;
    a = 0.9 * a + 0.1 * p;
    CHECK(averaged.value() == Approx(p).epsilon(1e-14));
    CHECK(averaged.other() == Approx(a).epsilon(1e-14));
  }
  CHECK(averaged.optimizer.steps() == 4);
  CHECK(averaged.optimizer.memory().back().name == "weights");
}

TEST_CASE("exchanging shows the average, and exchanging again changes no bit") {
  Averaged averaged;
  averaged.optimizer.begin();
  averaged.step(1);
  const double p = averaged.value(), a = averaged.other();
  averaged.optimizer.exchange();
  CHECK(averaged.value() == a);
  CHECK(averaged.other() == p);
  averaged.optimizer.exchange();
  CHECK(averaged.value() == p);
  CHECK(averaged.other() == a);
}

}  // namespace
}  // namespace dtrain
