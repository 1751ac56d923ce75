// How many operations a recorded step of a small model is made of: on a GPU each costs some microseconds,
// which for small batches is all that a step costs.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <set>
#include <string>
#include <vector>

#include "architectures/architectures.h"
#include "catch.h"
#include "comm/fake_accelerator.h"
#include "data/example_source.h"
#include "loader/batches.h"
#include "step/device_steps.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

// Those that a device does nothing for: views, memory, and what only calls others.
const std::set<std::string> kFree = {
    "aten::as_strided", "aten::contiguous",     "aten::detach",  "aten::empty",      "aten::empty_like",
    "aten::flatten",    "aten::empty_strided",  "aten::expand",  "aten::lift_fresh", "aten::linear",
    "aten::narrow",     "aten::log_softmax",    "aten::permute", "aten::reshape",    "aten::resize_",
    "aten::select",     "aten::resolve_conj",   "aten::slice",   "aten::t",          "aten::to",
    "aten::transpose",  "aten::_reshape_alias", "aten::view",    "aten::unsqueeze"};

// The operations of LibTorch that this thread calls, without those that they call in turn.
thread_local std::vector<std::string> operations;
thread_local int depth = 0;  // in how many operations that are counted it is

struct InOperation : at::ObserverContext {
  ~InOperation() override { --depth; }
};

std::unique_ptr<at::ObserverContext> on_call(const at::RecordFunction& function) {
  const std::string name = function.name();
  if (!name.starts_with("aten::") || kFree.contains(name)) return nullptr;
  if (depth++ == 0) operations.push_back(name);
  return std::make_unique<InOperation>();
}

std::vector<std::string> operations_in(const std::function<void()>& body) {
  operations.clear();
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(on_call).scopes({at::RecordScope::FUNCTION}));
  body();
  at::removeCallback(handle);
  return operations;
}

TEST_CASE("a recorded step of a small model is made of few operations") {
  ModelSpec spec;
  spec.hidden = {16, 8};
  const LayerPlan plan = place_layers(expand_layers(spec, 5), {1, 6, 6}, 5);
  StrategyParts parts;
  // In float64, of which the processor computes by the same operations as a GPU.
  parts.model = build_model(plan, at::kDouble, 1);
  parts.group = make_single_group();
  parts.accelerator = std::make_shared<test::FakeAccelerator>();
  parts.record_steps = true;
  const auto strategy = make_strategy("one_device", std::move(parts));
  strategy->place_variables();
  LoaderOptions options;
  options.plan = {.per_replica = 4, .global = 4};
  options.format.dtype = at::kDouble;
  options.assembly = Assembly::kResident;
  options.holds_numbers = true;
  const StoredExamples examples{at::arange(30 * 36).remainder(256).to(at::kByte).view({30, 1, 6, 6}),
                                at::arange(30, at::kLong).remainder(5)};
  ShareLoader loader(make_memory_source(examples), options);
  MetricSums window;
  std::vector<std::string> made;
  int64_t step = 0;
  for (int64_t epoch = 0; step <= StepRecorder::kWarmUpSteps + 2; ++epoch) {
    loader.start_epoch(epoch);
    while (const auto share = loader.next()) {
      if (share->global_examples < 4) break;
      made = operations_in([&] { window.add(strategy->train_step(*share, {++step, 0.1})); });
    }
  }
  std::string all;
  for (const std::string& name : made) all += name + "\n";
  INFO(all);
  CHECK(window.examples() == 4 * step);
  // The zeros and the rate of a float64 update (ListOptimizer::update_by), which a float32 one does without.
  constexpr size_t kOfFloat64 = 8;
  CHECK(made.size() <= 27 + kOfFloat64);
  strategy->finish();
}

}  // namespace
}  // namespace dtrain
