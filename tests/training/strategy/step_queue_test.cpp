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

std::vector<StepValues> rates(double first, double second) {
  return {{{"learning_rate", at::scalar_tensor(first, at::kFloat)}},
          {{"learning_rate", at::scalar_tensor(second, at::kFloat)}}};
}

const TensorType kCount = {"count", at::kInt, {}};

TEST_CASE("steps wait until a call is full, and the call has the values of each") {
  StepQueue queue(3, [] { FAIL("nobody asked for sums"); });
  queue.limit(1, 0.1);  // ten would fit into the time
  CHECK(queue.empty());
  queue.add(rates(1, 10));
  queue.add(rates(2, 20));
  CHECK(!queue.full());
  CHECK(queue.argument(kCount, 0).item<int>() == 2);
  // A row that is not used has what the last step has.
  const TensorType type = {"learning_rate", at::kFloat, {3}};
  CHECK(at::equal(queue.argument(type, 0), at::tensor({1.0F, 2.0F, 2.0F})));
  CHECK(at::equal(queue.argument(type, 1), at::tensor({10.0F, 20.0F, 20.0F})));
  queue.add(rates(3, 30));
  CHECK(queue.full());
  queue.made(std::make_shared<Numbers>(std::vector<float>(6)), 2);
  CHECK(queue.empty());
}

TEST_CASE("a call has as many steps as fit into its time, and one at first") {
  StepQueue queue(8, [] { FAIL("nobody asked for sums"); });
  const auto steps_of_call = [&] {
    while (!queue.full()) queue.add(rates(1, 10));
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

TEST_CASE("a queue of one step has its values as they are") {
  StepQueue queue(1, [] { FAIL("nobody asked for sums"); });
  queue.add(rates(1, 10));
  CHECK(queue.full());
  CHECK(queue.argument({"learning_rate", at::kFloat, {}}, 1).dim() == 0);
}

TEST_CASE("each step has its own sums, which are read once and make the call if need be") {
  int reads = 0, calls = 0;
  StepQueue* queue = nullptr;
  StepQueue own(4, [&] {
    ++calls;
    queue->made(std::make_shared<Numbers>(std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0}, &reads), 2);
  });
  queue = &own;
  const auto first = own.add(rates(1, 10));
  const auto second = own.add(rates(2, 20));
  CHECK(second.get() == std::vector<double>{3, 4});
  CHECK(own.empty());
  const auto third = own.add(rates(3, 30));
  CHECK(first.get() == std::vector<double>{1, 2});
  CHECK(reads == 1);
  CHECK(calls == 1);
  CHECK(third.get() == std::vector<double>{1, 2});  // the first of the next call
  CHECK(calls == 2);
}

TEST_CASE("a call that fails, and sums that cannot be read, fail for everyone who asks") {
  StepQueue queue(2, [] { throw Error(ExitCode::kMemory, "out of memory on a device"); });
  const auto first = queue.add(rates(1, 10));
  const auto second = queue.add(rates(2, 20));
  CHECK_THROWS_WITH(first.get(), "out of memory on a device");
  CHECK_THROWS_WITH(second.get(), "out of memory on a device");
  class Lost : public DeviceTensor {
    void read(void*, int64_t) const override { throw Error(ExitCode::kBug, "the device is gone"); }
  };
  queue.made(std::make_shared<Lost>(), 2);
  CHECK_THROWS_AS(first.get(), Error);
  const auto third = queue.add(rates(3, 30));
  queue.made(std::make_shared<Lost>(), 2);
  CHECK_THROWS_WITH(third.get(), "the device is gone");
  CHECK_THROWS_WITH(third.get(), "the device is gone");
}

TEST_CASE("sums that outlive the queue do not call it") {
  std::shared_future<std::vector<double>> left;
  {
    StepQueue queue(4, [] { FAIL("the queue is gone"); });
    left = queue.add(rates(1, 10));
  }
  CHECK_THROWS_AS(left.get(), Error);
}

}  // namespace
}  // namespace dtrain
