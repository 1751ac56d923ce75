#include "step/watched_optimizer.h"

#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "optim/weight_average.h"

namespace dtrain {
namespace {

struct Watched {
  std::vector<at::Tensor> parameters = {at::full({3}, 0.5, at::kFloat), at::full({2, 2}, -0.25, at::kFloat)};
  std::unique_ptr<WatchedOptimizer> optimizer;

  explicit Watched(double average = 0) {
    OptimizerSpec spec;
    for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::full_like(parameter, 0.1);
    std::unique_ptr<Optimizer> inner = make_optimizer(spec, parameters);
    if (average != 0) inner = std::make_unique<WeightAverage>(std::move(inner), parameters, average);
    optimizer = std::make_unique<WatchedOptimizer>(std::move(inner), parameters, GrowthBound(spec));
    optimizer->begin();
  }
  // All that it works on.
  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> all = parameters;
    for (const OptimizerMemory& memory : optimizer->memory())
      all.insert(all.end(), memory.tensors.begin(), memory.tensors.end());
    return all;
  }
};

void flip(const at::Tensor& tensor, int64_t element, int bit) {
  static_cast<uint32_t*>(tensor.mutable_data_ptr())[element] ^= uint32_t{1} << bit;
}

TEST_CASE("every bit of a parameter and of what is remembered of it is under its seal") {
  const Watched every(0.9);
  for (size_t i = 0; i < every.tensors().size(); ++i) {
    for (const int bit : {0, 22, 23, 31}) {
      Watched watched(0.9);
      watched.optimizer->step(0.01);
      watched.optimizer->seal();
      CHECK_FALSE(watched.optimizer->is_past_seal());
      flip(watched.tensors()[i], 2, bit);
      CHECK_FALSE(watched.optimizer->broken());
      watched.optimizer->step(0.01);
      CHECK(watched.optimizer->is_past_seal());
      REQUIRE(watched.optimizer->broken());
      CHECK(*watched.optimizer->broken() == i % 2);
    }
  }
}

TEST_CASE("a seal holds until the next step, or until it is tested, and no longer") {
  Watched watched;
  watched.optimizer->seal();
  for (int step = 0; step < 3; ++step) watched.optimizer->step(0.01);
  watched.optimizer->test_seals();
  CHECK_FALSE(watched.optimizer->broken());
  CHECK_FALSE(watched.optimizer->is_past_seal());
  flip(watched.parameters[0], 0, 0);  // under no seal
  watched.optimizer->step(0.01);
  CHECK_FALSE(watched.optimizer->broken());

  watched.optimizer->seal();
  flip(watched.parameters[1], 0, 0);
  watched.optimizer->test_seals();
  CHECK(*watched.optimizer->broken() == 1);
  watched.optimizer->begin();  // what was put there is right
  watched.optimizer->test_seals();
  CHECK_FALSE(watched.optimizer->broken());
}

TEST_CASE("parameters that are updated one after the other are tested in their turn") {
  Watched watched;
  watched.optimizer->seal();
  watched.optimizer->begin_step(0.01);
  watched.optimizer->update({1});
  flip(watched.parameters[0], 0, 0);
  CHECK_FALSE(watched.optimizer->broken());
  watched.optimizer->update({0});
  CHECK(*watched.optimizer->broken() == 0);
}

TEST_CASE("a digest is of all bits") {
  const Watched watched(0.9);
  watched.optimizer->step(0.01);
  const uint64_t before = watched.optimizer->digest();
  for (const at::Tensor& tensor : watched.tensors()) {
    flip(tensor, 1, 5);
    CHECK(watched.optimizer->digest() != before);
    flip(tensor, 1, 5);
    CHECK(watched.optimizer->digest() == before);
  }
}

TEST_CASE("the sum of a tensor's words changes with each of its bits") {
  const at::Tensor dense =
      at::arange(12, at::kFloat).view({1, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor wide = at::full({3}, -1.5, at::kDouble);
  const at::Tensor before = sums_of_words({dense, wide});
  for (int bit = 0; bit < 32; ++bit) {
    flip(dense, bit % 12, bit);
    flip(wide, bit % 6, bit);
    const at::Tensor after = sums_of_words({dense, wide});
    CHECK(after[0].item<int64_t>() != before[0].item<int64_t>());
    CHECK(after[1].item<int64_t>() != before[1].item<int64_t>());
    flip(dense, bit % 12, bit);
    flip(wide, bit % 6, bit);
  }
  CHECK(at::equal(sums_of_words({dense, wide}), before));
}

TEST_CASE("growth is plausible until something is larger than steps make it, and then stays implausible") {
  const bool average = GENERATE(false, true);
  Watched watched(average ? 0.9 : 0);
  for (int check = 0; check < 5; ++check) {
    for (int step = 0; step < 10; ++step) watched.optimizer->step(0.01);
    CHECK(watched.optimizer->check_growth().is_plausible());
  }
  const at::Tensor spoiled = average ? watched.optimizer->memory().back().tensors[0] : watched.parameters[0];
  const float good = spoiled[0].item<float>();
  for (const double value : {1e3, -1e37, double{INFINITY}, double{NAN}}) {
    spoiled[0].fill_(value);
    for (int check = 0; check < 2; ++check) {
      const Growth growth = watched.optimizer->check_growth();
      CHECK_FALSE(growth.is_plausible());
      if (std::isfinite(value)) CHECK(growth.largest == Approx(std::abs(value)));
    }
    spoiled[0].fill_(good);
    CHECK(watched.optimizer->check_growth().is_plausible());
  }
}

TEST_CASE("who updates nothing has nothing to find") {
  WatchedOptimizer nothing(make_optimizer(OptimizerSpec(), {}), {}, GrowthBound(OptimizerSpec()));
  nothing.begin();
  nothing.seal();
  nothing.step(0.01);
  CHECK(nothing.is_past_seal());
  nothing.test_seals();
  CHECK_FALSE(nothing.broken());
  CHECK(nothing.check_growth().is_plausible());
}

}  // namespace
}  // namespace dtrain
