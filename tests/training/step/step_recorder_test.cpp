#include "step/device_steps.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "catch.h"
#include "comm/fake_accelerator.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

Share share_of_size(int64_t size, double value) {
  Share share;
  share.global_examples = size;
  share.micro_batches.emplace_back(Batch{at::full({size, 2}, value), at::zeros({size}, at::kLong)});
  return share;
}

MetricSums sums_of(double loss, int64_t examples) {
  return {objective_info("cross_entropy"),
          2,
          {{"loss", loss}, {"correct", 0}, {"examples", static_cast<double>(examples)}}};
}

// Returns sums whose loss is the sum of the inputs, and counts its calls.
struct CountingStep {
  int calls = 0;
  MetricSums operator()(const Share& share) {
    ++calls;
    const double sum = share.micro_batches[0].assemble().inputs.sum().item<double>();
    return sums_of(sum, share.micro_batches[0].size());
  }
};

}  // namespace

TEST_CASE("without an accelerator every step runs as it is") {
  StepRecorder recorder(nullptr);
  CountingStep step;
  for (int i = 0; i < 30; ++i) recorder.run(share_of_size(4, i), std::ref(step));
  CHECK(step.calls == 30);
}

TEST_CASE("a step is recorded once after the warm-up, and replayed with each share's own examples") {
  const auto accelerator = std::make_shared<FakeAccelerator>();
  StepRecorder recorder(accelerator);
  CountingStep step;
  for (int i = 0; i < 30; ++i) {
    const MetricSums sums = recorder.run(share_of_size(4, i), std::ref(step));
    CHECK(sums.named() == sums_of(8.0 * i, 4).named());
    CHECK(accelerator->recordings() == (i < StepRecorder::kWarmUpSteps ? 0 : 1));
    CHECK(accelerator->replays() == std::max(0, i + 1 - StepRecorder::kWarmUpSteps));
  }
}

TEST_CASE("what was added of a replayed step's sums stays when the next one is replayed") {
  StepRecorder recorder(std::make_shared<FakeAccelerator>());
  CountingStep step;
  std::vector<MetricSums> all;
  for (int i = 0; i < 20; ++i) all.emplace_back().add(recorder.run(share_of_size(4, i), std::ref(step)));
  for (int i = 0; i < 20; ++i) CHECK(all[static_cast<size_t>(i)].named().at("loss") == 8.0 * i);
}

TEST_CASE("a step of another size runs as it is, and the recording stays") {
  const auto accelerator = std::make_shared<FakeAccelerator>();
  StepRecorder recorder(accelerator);
  CountingStep step;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 12; ++i) recorder.run(share_of_size(4, i), std::ref(step));
    const int replays = accelerator->replays();
    CHECK(recorder.run(share_of_size(3, 7), std::ref(step)).named() == sums_of(42, 3).named());
    CHECK(recorder.run(Share(share_of_size(4, 1)), std::ref(step)).examples() == 4);
    Share empty;
    empty.global_examples = 4;
    recorder.run(empty, [](const Share&) { return MetricSums(); });
    CHECK(accelerator->replays() == replays + 1);
  }
  CHECK(accelerator->recordings() == 1);
}

TEST_CASE("a step that a device refuses to record is an error that says how to do without") {
  class Refusing : public FakeAccelerator {
   public:
    std::function<void()> record(const std::function<void()>& /*body*/) override {
      throw c10::AcceleratorError({"", "", 0}, 900, "operation not permitted when stream is capturing");
    }
  };
  StepRecorder recorder(std::make_shared<Refusing>());
  CountingStep step;
  for (int i = 0; i < StepRecorder::kWarmUpSteps; ++i) recorder.run(share_of_size(4, i), std::ref(step));
  CHECK_THROWS_WITH(recorder.run(share_of_size(4, 1), std::ref(step)),
                    ContainsSubstring("cuda.graphs: false") && ContainsSubstring("stream is capturing"));
}

TEST_CASE("epochs of a few steps each are recorded too") {
  const auto accelerator = std::make_shared<FakeAccelerator>();
  StepRecorder recorder(accelerator);
  CountingStep step;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 3; ++i) recorder.run(share_of_size(4, i), std::ref(step));
    recorder.run(share_of_size(1, 1), std::ref(step));
  }
  CHECK(accelerator->recordings() == 1);
  CHECK(accelerator->replays() == 15 - StepRecorder::kWarmUpSteps);
}
