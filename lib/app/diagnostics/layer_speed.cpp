#include "diagnostics/layer_speed.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "compiled/compiled_program.h"
#include "compiled/layer_passes.h"
#include "core/clock.h"
#include "core/error.h"
#include "kernels/products.h"
#include "metrics/statistics.h"
#include "models/layer_kinds.h"
#include "models/model.h"
#include "parallel/parallel_blocks.h"
#include "plan/planned_step.h"

namespace dtrain {
namespace {

constexpr double kSeconds = 1;  // for all layers together
constexpr int kFewest = 3;      // measurements of each

double seconds_of(const std::function<void()>& work) {
  const double begin = steady_seconds();
  work();
  return steady_seconds() - begin;
}

double operations_of_batch(const std::vector<PlacedLayer>& layers, size_t number, int64_t examples) {
  const LayerOperations operations = operations_of(layers, number);
  return (operations.forward + operations.backward) * static_cast<double>(examples);
}

// In turn the two kinds of products that steps use; the faster one counts.
double peak_of_products() {
  constexpr int64_t kSize = 384;
  const at::Tensor a = at::rand({kSize, kSize}), b = at::rand({kSize, kSize});
  at::Tensor c = at::zeros({kSize, kSize});
  double best = kSeconds;
  for (int round = 0; round < 30; ++round) {
    best = std::min(best, seconds_of([&] { at::mm_out(c, a, b); }));
    best = std::min(best, seconds_of([&] {
                      multiply(kSize, kSize, kSize, a.const_data_ptr<float>(), b.const_data_ptr<float>(),
                               c.mutable_data_ptr<float>(), /*adds=*/false);
                    }));
  }
  return 2.0 * kSize * kSize * kSize / best;
}

Shape with_examples(int64_t examples, const Shape& shape) {
  Shape whole = {examples};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

// What compiled passes announce to LibTorch's profiler: their times by the name of their (first) layer.
struct PassTimes {
  std::map<std::string, std::vector<double>> forward, backward;
};
thread_local PassTimes* listening = nullptr;

struct PassBegun : at::ObserverContext {
  double begin = steady_seconds();
};

std::unique_ptr<at::ObserverContext> on_pass_begin(const at::RecordFunction& /*pass*/) {
  return std::make_unique<PassBegun>();
}

void on_pass_end(const at::RecordFunction& pass, at::ObserverContext* context) {
  const double seconds = steady_seconds() - static_cast<PassBegun*>(context)->begin;
  const bool is_backward = pass.scope() == at::RecordScope::BACKWARD_FUNCTION;
  if (listening != nullptr)
    (is_backward ? listening->backward : listening->forward)[pass.name()].push_back(seconds);
}

PassTimes times_of_program(const Model& model, int64_t examples, const Shape& input) {
  const std::vector<at::Tensor> gradients = allocate_gradients(model);
  Program program(model, examples, gradients);
  const at::Tensor inputs = at::rand(with_examples(examples, input));
  const auto pass = [&] {
    program.forward(inputs);
    at::Tensor(program.output_gradient()).fill_(1e-3);
    program.backward(/*adds=*/false);
  };
  pass();
  PassTimes times;
  listening = &times;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_pass_begin, on_pass_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  const double end = steady_seconds() + kSeconds;
  for (int count = 0; count < kFewest || steady_seconds() < end; ++count) pass();
  at::removeCallback(handle);
  listening = nullptr;
  return times;
}

std::vector<LayerSpeed> compiled_layers(const std::vector<PlacedLayer>& layers, int64_t examples,
                                        const Shape& input, const Model& model) {
  PassTimes times = times_of_program(model, examples, input);
  std::vector<LayerSpeed> speeds;
  const auto add = [&](LayerSpeed speed, const std::string& name) {
    speed.forward_seconds = median(times.forward[name]).value_or(0);
    speed.backward_seconds = median(times.backward[name]).value_or(0);
    speeds.push_back(std::move(speed));
  };
  const auto add_turning = [&](const PlacedLayer* layer) {
    const std::string name = name_of_turning(layer);
    if (times.forward.contains(name)) add({.name = name}, name);
  };
  add_turning(nullptr);
  for (size_t i = 0; i < layers.size();) {
    const size_t together = match_layers(layers, i).layers;
    LayerSpeed speed{.name = layers[i].name, .operations = operations_of_batch(layers, i, examples)};
    for (size_t next = 1; next < together; ++next) speed.name += " + " + layers[i + next].name;
    add(std::move(speed), layers[i].name);
    i += together;
    add_turning(&layers[i - 1]);
  }
  return speeds;
}

LayerSpeed eager_layer(const PlacedLayer& placed, int64_t examples, const at::TensorOptions& options,
                       bool channels_last, bool needs_input_gradient, double seconds) {
  WeightMaker weights(/*seed=*/1, c10::typeMetaToScalarType(options.dtype()));
  const LayerKind& kind = kind_of(placed);
  const std::shared_ptr<Layer> layer = kind.combine != nullptr ? nullptr : kind.make(placed, weights);
  const auto layout = [&](const at::Tensor& tensor) {
    return channels_last && tensor.dim() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
  };
  const at::Tensor input = layout(at::rand(with_examples(examples, placed.input_shape), options));
  const at::Tensor gradient = layout(at::rand(with_examples(examples, placed.output_shape), options));
  std::vector<at::Tensor> wanted;
  if (layer) wanted = layer->parameters();
  for (const at::Tensor& weight : wanted) weight.set_data(layout(weight));
  if (needs_input_gradient || wanted.empty()) wanted.push_back(input.requires_grad_());
  LayerSpeed speed{.name = placed.name};
  std::vector<double> forward, backward;
  const double end = steady_seconds() + seconds;
  for (int count = 0; count < 1 + kFewest || steady_seconds() < end; ++count) {
    at::Tensor output;
    const double there =
        seconds_of([&] { output = layer ? layer->forward(input) : kind.combine(input, gradient); });
    const double back = seconds_of([&] {
      torch::autograd::grad({output}, wanted, {gradient}, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true);
    });
    if (count == 0) continue;  // makes what later calls find made
    forward.push_back(there);
    backward.push_back(back);
  }
  speed.forward_seconds = median(forward).value_or(0);
  speed.backward_seconds = median(backward).value_or(0);
  return speed;
}

std::vector<LayerSpeed> eager_layers(const JobPlan& job, int64_t examples) {
  const std::vector<PlacedLayer>& layers = job.model.layers;
  const auto options = at::TensorOptions(dtype_from_name(job.spec.model.dtype));
  const double seconds = kSeconds / static_cast<double>(layers.size());
  std::vector<LayerSpeed> speeds;
  bool is_needed = false;
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerSpeed speed =
        eager_layer(layers[i], examples, options, job.spec.train.channels_last, is_needed, seconds);
    speed.operations = operations_of_batch(layers, i, examples);
    is_needed = is_needed || layers[i].parameters > 0;
    speeds.push_back(std::move(speed));
  }
  return speeds;
}

}  // namespace

ModelSpeed measure_layers(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  // Layers that compute kept features are compiled in no step.
  const bool compiled =
      planned_step(job, run).execution == "compiled" && run.phases.front().layers.first == 0;
  if (job.device_of(0) != "cpu" || job.spec.train.precision != "float32")
    throw Error(ExitCode::kUsage,
                "--explain measures layers on the processor, in the model's own precision: add "
                "--set strategy.devices=cpu --set train.precision=float32");
  if (job.spec.model.is_program())
    throw Error(ExitCode::kUsage, "--explain measures layers, which a {} model is not made of",
                job.spec.model.kind);
  compute_with(static_cast<int>(run.threads_per_replica));
  ModelSpeed speed{.execution = compiled ? "compiled" : "eager",
                   .examples = run.batch.per_replica,
                   .threads = run.threads_per_replica,
                   .peak = peak_of_products()};
  if (compiled) {
    const auto model = build_model(job.model, at::kFloat, static_cast<uint64_t>(job.spec.seed));
    speed.layers = compiled_layers(job.model.layers, speed.examples, job.data.example_shape, *model);
  } else {
    speed.layers = eager_layers(job, speed.examples);
  }
  return speed;
}

}  // namespace dtrain
