// Programs of replicas whose batch_norms have the statistics of all, as threads: each with its part of a
// batch, against autograd in float64 with the whole.
#include <ATen/ATen.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

#include "catch.h"
#include "compiled/comparison.h"
#include "compiled/compiled_program.h"
#include "copied_variables.h"
#include "kernels/matrices.h"
#include "models/layer_specs.h"
#include "models/variables.h"

namespace dtrain {
namespace {

constexpr int64_t kExamples = 13;

// Threads that gather their rows.
class Replicas {
 public:
  explicit Replicas(size_t size) : rows_(size), meeting_(static_cast<std::ptrdiff_t>(size)) {}

  void run(const std::function<void(size_t rank, const GatherRows& gather)>& body) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < rows_.size(); ++rank) {
      threads.emplace_back([this, rank, &body] {
        body(rank, [this, rank](const at::Tensor& own) {
          if (rank == 0) ++exchanges_;
          rows_[rank] = own;
          meeting_.arrive_and_wait();
          const at::Tensor all = at::stack(rows_);
          meeting_.arrive_and_wait();  // until all have read
          return all;
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  int exchanges() const { return exchanges_; }

 private:
  std::vector<at::Tensor> rows_;
  std::barrier<> meeting_;
  std::atomic<int> exchanges_ = 0;
};

struct JoinedPass {
  at::Tensor outputs;
  std::vector<at::Tensor> gradients;
  Variables variables;  // the moving statistics among them
};

struct Normed {
  std::vector<LayerSpec> layers;
  int exchanges = 0;  // in both passes together
};

// The gradient of the input is exchanged where a trained layer needs it.
const std::vector<Normed>& normed_models() {
  static const std::vector<Normed> models = {
      {{layer("batch_norm"), layer("flatten"), dense(5)}, 1},
      {{layer("flatten"), dense(9), layer("batch_norm"), layer("tanh"), dense(5), layer("batch_norm")}, 4},
      {{conv2d(4, 2), layer("batch_norm"), layer("tanh"), layer("flatten"), dense(5)}, 2},
      {{with_padding(conv2d(48, 3), "same"), layer("batch_norm"), layer("tanh"),
        named(with_padding(conv2d(50, 3), "same"), "b"), layer("batch_norm"), add("b"),
        layer("global_avg_pool2d"), dense(5)},
       4},
  };
  return models;
}

JoinedPass whole_batch(Model& model, const at::Tensor& inputs) {
  JoinedPass passed;
  passed.outputs = model.forward(inputs);
  (passed.outputs * slope(kExamples)).sum().backward();
  for (const at::Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) passed.gradients.push_back(parameter.grad());
  }
  passed.variables = copy_variables(model);
  return passed;
}

JoinedPass part_of_batch(const LayerPlan& plan, const TrainedLayers& trained, const GatherRows& gather,
                         const at::Tensor& inputs, const at::Tensor& slopes) {
  const auto model = build_model(plan, at::kFloat, 3);
  model->train_layers(trained);
  model->synchronise(gather);
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, inputs.size(0), gradients);
  JoinedPass passed;
  passed.outputs = program.forward(inputs).clone();
  at::Tensor output_gradient = program.output_gradient();
  output_gradient.copy_(slopes);
  program.backward(/*adds=*/false);
  for (const at::Tensor& gradient : gradients) passed.gradients.push_back(gradient.clone());
  passed.variables = copy_variables(*model);
  return passed;
}

std::vector<JoinedPass> parts_of_batch(const LayerPlan& plan, const std::vector<int64_t>& sizes,
                                       const at::Tensor& inputs, int& exchanges,
                                       const TrainedLayers& trained = {}) {
  Replicas replicas(sizes.size());
  std::vector<JoinedPass> passed(sizes.size());
  const std::vector<at::Tensor> parts = inputs.split_with_sizes(sizes),
                                slopes = slope(kExamples).split_with_sizes(sizes);
  replicas.run([&](size_t rank, const GatherRows& gather) {
    passed[rank] = part_of_batch(plan, trained, gather, parts[rank], slopes[rank]);
  });
  exchanges = replicas.exchanges();
  return passed;
}

void require_sum(const std::vector<JoinedPass>& parts, const JoinedPass& whole) {
  std::vector<at::Tensor> outputs;
  for (const JoinedPass& part : parts) outputs.push_back(part.outputs);
  CHECK(error_of(at::cat(outputs), whole.outputs) < 1e-5);
  for (size_t i = 0; i < whole.gradients.size(); ++i) {
    at::Tensor sum = at::zeros_like(whole.gradients[i]);
    for (const JoinedPass& part : parts) sum += part.gradients.at(i);
    CHECK(error_of(sum, whole.gradients[i], scale_of(whole.gradients)) < 1e-5);
  }
  for (size_t i = 0; i < whole.variables.size(); ++i) {
    for (const JoinedPass& part : parts) {
      CHECK(at::equal(part.variables[i].second, parts[0].variables[i].second));
      CHECK(error_of(part.variables[i].second, whole.variables[i].second) < 1e-5);
    }
  }
}

std::shared_ptr<Model> exact_model(const LayerPlan& plan) {
  const auto model = build_model(plan, at::kFloat, 3), exact = build_model(plan, at::kDouble, 3);
  Variables all = copy_variables(*model);
  for (auto& [name, tensor] : all) tensor = tensor.to(at::kDouble);
  write_variables(*exact, all);
  return exact;
}

// Numbers far from zero, and each part from the others.
at::Tensor drifting_inputs() {
  at::manual_seed(2);
  const at::Tensor drift = at::linspace(5, 9, kExamples).view({kExamples, 1, 1, 1});
  return at::randn({kExamples, 1, 5, 6}) + drift;
}

TEST_CASE("parts of a batch with joined statistics pass what the whole batch does in float64") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const std::vector<int64_t> sizes = GENERATE(std::vector<int64_t>{13}, std::vector<int64_t>{6, 7},
                                              std::vector<int64_t>{13, 0}, std::vector<int64_t>{4, 1, 8});
  const at::Tensor inputs = drifting_inputs();
  for (const auto& [layers, exchanges] : normed_models()) {
    INFO(to_string(instructions()) << ": " << sizes.size() << " replicas, " << layers.size()
                                   << " layers from " << layers[0].kind);
    const LayerPlan plan = place_layers(layers, kInputShape, 5);
    REQUIRE(plan.problems.empty());
    int made = 0;
    const std::vector<JoinedPass> parts = parts_of_batch(plan, sizes, inputs, made);
    require_sum(parts, whole_batch(*exact_model(plan), inputs.to(at::kDouble)));
    CHECK(made == exchanges);
  }
}

TEST_CASE("a frozen batch_norm exchanges nothing, and keeps its statistics") {
  const LayerPlan plan =
      place_layers({conv2d(4, 2), layer("batch_norm"), layer("flatten"), dense(5)}, kInputShape, 5);
  const TrainedLayers trained = {.each = {true, false, true, true}};
  const at::Tensor inputs = drifting_inputs();
  const auto exact = exact_model(plan);
  exact->train_layers(trained);
  int made = 0;
  const std::vector<JoinedPass> parts = parts_of_batch(plan, {6, 7}, inputs, made, trained);
  require_sum(parts, whole_batch(*exact, inputs.to(at::kDouble)));
  CHECK(made == 0);
}

}  // namespace
}  // namespace dtrain
