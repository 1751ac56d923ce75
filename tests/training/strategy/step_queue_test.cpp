#include "strategy/step_queue.h"

#include <ATen/ATen.h>

#include <cstring>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

// Numbers that a device has computed; counts how often they are read.
class Numbers : public DeviceTensor {
 public:
  explicit Numbers(std::vector<float> numbers, int* reads = nullptr)
      : numbers_(std::move(numbers)), reads_(reads) {}
  void read(void* data, int64_t size) const override {
    REQUIRE(static_cast<size_t>(size) == numbers_.size() * sizeof(float));
    std::memcpy(data, numbers_.data(), static_cast<size_t>(size));
    if (reads_ != nullptr) ++*reads_;
  }

 private:
  std::vector<float> numbers_;
  int* reads_;
};

DeviceStep step_with(double learning_rate) {
  return {.number = 1,
          .learning_rate = learning_rate,
          .examples = 3,
          .seed = 7,
          .batch = MicroBatch({at::arange(20), at::arange(20)}, {}, at::tensor({4, 9, 2}, at::kLong))};
}

TEST_CASE("steps wait until a call is full") {
  StepQueue queue(3, [] { FAIL("nobody asked for sums"); });
  queue.limit(1, 0.1);  // ten would fit into the time
  CHECK(queue.empty());
  queue.add(step_with(1));
  queue.add(step_with(2));
  CHECK(!queue.full());
  CHECK(queue.steps().at(1).learning_rate == 2);
  queue.add(step_with(3));
  CHECK(queue.full());
  queue.made(std::make_shared<Numbers>(std::vector<float>(6)), 2);
  CHECK(queue.empty());
}

TEST_CASE("a call has the values of each step, and rows that are not used have those of the last") {
  const std::vector<DeviceStep> steps = {step_with(1), step_with(2)};
  const ProgramForm form = {.devices = 2, .rows = 2, .resident = 20, .steps = 3};
  const auto argument = [&](const char* name, at::ScalarType type, const Shape& shape, int64_t device = 0) {
    return step_argument({name, type, shape}, steps, form, device);
  };
  CHECK(argument("count", at::kInt, {}).item<int>() == 2);
  CHECK(at::equal(argument("learning_rate", at::kFloat, {3}), at::tensor({1.0F, 2.0F, 2.0F})));
  CHECK(at::equal(argument("examples", at::kFloat, {3}, 1), at::tensor({3.0F, 3.0F, 3.0F})));
  // Each device has its share of the batch, filled up with rows of weight 0.
  const at::Tensor first = at::tensor({4, 9}, at::kInt), second = at::tensor({2, 0}, at::kInt);
  CHECK(at::equal(argument("rows", at::kInt, {3, 2}, 0), at::stack({first, first, first})));
  CHECK(at::equal(argument("rows", at::kInt, {3, 2}, 1), at::stack({second, second, second})));
  CHECK(at::equal(argument("weights", at::kFloat, {3, 2}, 1)[2], at::tensor({1.0F, 0.0F})));
  const at::Tensor seeds = argument("seed", at::kUInt32, {3, 2}).view(at::kInt);
  CHECK(at::equal(seeds[0], at::tensor({7, 0}, at::kInt)));
  CHECK_THROWS_AS(argument("other", at::kFloat, {3}), Error);
}

TEST_CASE("a call of one step has its values as they are, and the examples that it is sent") {
  DeviceStep step = step_with(0.5);
  step.batch = MicroBatch({at::arange(4).to(at::kByte), at::tensor({1, 0, 2, 1}, at::kLong)});
  const ProgramForm form = {.rows = 4};
  CHECK(step_argument({"learning_rate", at::kFloat, {}}, {step}, form, 0).item<float>() == 0.5F);
  CHECK(at::equal(step_argument({"inputs", at::kByte, {4}}, {step}, form, 0), step.batch.stored().inputs));
  CHECK(at::equal(step_argument({"targets", at::kInt, {4}}, {step}, form, 0),
                  at::tensor({1, 0, 2, 1}, at::kInt)));
}

TEST_CASE("a call has as many steps as fit into its time, and one at first") {
  StepQueue queue(8, [] { FAIL("nobody asked for sums"); });
  const auto steps_of_call = [&] {
    while (!queue.full()) queue.add(step_with(1));
    const int64_t steps = queue.size();
    queue.made(std::make_shared<Numbers>(std::vector<float>(16)), 2);
    return steps;
  };
  CHECK(steps_of_call() == 1);
  queue.limit(0.25, 0.06);
  CHECK(steps_of_call() == 4);
  queue.limit(0.25, 0);  // the clock may not have advanced
  CHECK(steps_of_call() == 8);
  queue.limit(0.25, 30);
  CHECK(steps_of_call() == 1);
}

TEST_CASE("each step has its own sums, which are read once and make the call if need be") {
  int reads = 0, calls = 0;
  StepQueue* queue = nullptr;
  StepQueue own(4, [&] {
    ++calls;
    queue->made(std::make_shared<Numbers>(std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0}, &reads), 2);
  });
  queue = &own;
  const auto first = own.add(step_with(1));
  const auto second = own.add(step_with(2));
  CHECK(second.get() == std::vector<double>{3, 4});
  CHECK(own.empty());
  const auto third = own.add(step_with(3));
  CHECK(first.get() == std::vector<double>{1, 2});
  CHECK(reads == 1);
  CHECK(calls == 1);
  CHECK(third.get() == std::vector<double>{1, 2});  // the first of the next call
  CHECK(calls == 2);
}

TEST_CASE("a call that fails, and sums that cannot be read, fail for everyone who asks") {
  StepQueue queue(2, [] { throw Error(ExitCode::kMemory, "out of memory on a device"); });
  const auto first = queue.add(step_with(1));
  const auto second = queue.add(step_with(2));
  CHECK_THROWS_WITH(first.get(), "out of memory on a device");
  CHECK_THROWS_WITH(second.get(), "out of memory on a device");
  class Lost : public DeviceTensor {
    void read(void*, int64_t) const override { throw Error(ExitCode::kBug, "the device is gone"); }
  };
  queue.made(std::make_shared<Lost>(), 2);
  CHECK_THROWS_AS(first.get(), Error);
  const auto third = queue.add(step_with(3));
  queue.made(std::make_shared<Lost>(), 2);
  CHECK_THROWS_WITH(third.get(), "the device is gone");
  CHECK_THROWS_WITH(third.get(), "the device is gone");
}

TEST_CASE("sums that outlive the queue do not call it") {
  std::shared_future<std::vector<double>> left;
  {
    StepQueue queue(4, [] { FAIL("the queue is gone"); });
    left = queue.add(step_with(1));
  }
  CHECK_THROWS_AS(left.get(), Error);
}

}  // namespace
}  // namespace dtrain
