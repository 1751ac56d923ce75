// Programs against autograd in float64, for every kind of layer that can be compiled.
#include "compiled/compiled_program.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "bare_layer.h"
#include "catch.h"
#include "compiled/comparison.h"
#include "copied_variables.h"
#include "kernels/matrices.h"
#include "models/layer_kinds.h"
#include "models/layer_specs.h"
#include "models/variables.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

LayerSpec dropping(double rate) { return {.kind = "dropout", .own = DropoutFields{rate}}; }

// Lists of layers from 5 x 6 inputs to 5 outputs. The orders differ in what can work in place.
const std::vector<std::vector<LayerSpec>>& compiled_cases() {
  static const std::vector<std::vector<LayerSpec>> cases = {
      {layer("flatten"), dense(5)},
      {layer("flatten"), without_bias(dense(33)), layer("relu"), dense(5)},
      {layer("relu"), layer("flatten"), dense(17), layer("tanh"), layer("relu"), dense(5)},
      {layer("flatten"), dense(9), layer("gelu"), layer("sigmoid"), dense(8), layer("sigmoid"), dense(5)},
      {layer("tanh"), layer("gelu"), layer("flatten"), layer("flatten"), dense(5), layer("tanh")},
      {layer("silu"), layer("flatten"), dense(9), layer("silu"), layer("tanh"), dense(5), layer("silu")},
      {layer("flatten"), dense(9), layer("relu"), dropping(0.4), dense(7), dropping(0.5), dense(5)},
      {layer("flatten"), dropping(0), dense(5), layer("gelu")},
      {conv2d(4, 2), layer("relu"), pool2d("max_pool2d", 2), layer("flatten"), dense(5)},
      {with_padding(conv2d(3, 3), "same"), layer("relu"), pool2d("max_pool2d", 2), layer("tanh"),
       layer("flatten"), without_bias(dense(7)), layer("relu"), dense(5)},
      {with_padding(without_bias(conv2d(16, 3)), "symmetric"), layer("relu"), pool2d("max_pool2d", 2),
       with_padding(conv2d(4, 2), "same"), layer("relu"), with_stride(pool2d("max_pool2d", 2), 2),
       layer("flatten"), dense(5)},
      {layer("flatten"), dense(9), layer("batch_norm"), layer("relu6"), without_bias(dense(5)),
       layer("batch_norm")},
      {layer("batch_norm"), layer("flatten"), layer("layer_norm"), dense(40), layer("layer_norm"),
       layer("tanh"), dense(5)},
      {conv2d(4, 2), layer("batch_norm"), layer("relu"), pool2d("max_pool2d", 2), layer("flatten"), dense(5)},
      {with_stride(with_padding(conv2d(4, 3), "same"), 2), layer("gelu"),
       in_groups(without_bias(conv2d(6, 2)), 2), layer("sigmoid"), layer("flatten"), dense(5)},
      {with_padding(conv2d(48, 3), "same"), layer("relu"),
       with_padding(without_bias(conv2d(50, 3)), "symmetric"), layer("batch_norm"), layer("relu"),
       layer("global_avg_pool2d"), dense(5)},
      {with_padding(conv2d(32, 5), "same"), layer("relu"), with_padding(conv2d(64, 5), "same"), layer("relu"),
       pool2d("max_pool2d", 2), layer("flatten"), dense(5)},
      {pool2d("avg_pool2d", 2), conv2d(3, 1), adaptive(2), layer("relu"), layer("flatten"), dense(5)},
      {conv2d(4, 2), with_stride(pool2d("max_pool2d", 3), 1), layer("tanh"), adaptive(1), layer("flatten"),
       dense(5)},
      {conv2d(4, 2), layer("layer_norm"), layer("relu"), layer("flatten"), dense(5)},
      {layer("layer_norm"), with_padding(conv2d(20, 3), "same"), layer("layer_norm"), layer("gelu"),
       layer("global_avg_pool2d"), dense(5)},
      {layer("flatten"), dense(6), group_norm(2), layer("relu"), dense(5)},
      {with_padding(conv2d(20, 3), "same"), group_norm(4), layer("relu"), pool2d("max_pool2d", 2),
       group_norm(20), layer("tanh"), layer("global_avg_pool2d"), dense(5)},
      {conv2d(3, 2), with_padding(with_stride(pool2d("max_pool2d", 3), 2), "same"), layer("flatten"),
       dense(5)},
      {conv2d(3, 2), with_padding(with_stride(pool2d("max_pool2d", 2), 1), "same"),
       with_padding(with_stride(pool2d("avg_pool2d", 2), 1), "same"), layer("flatten"), dense(5)},
      // Layers that take images by channels among those that want the channels innermost.
      {with_padding(conv2d(4, 3), "same"), dropping(0.4), conv2d(6, 1), layer("silu"), layer("flatten"),
       layer("relu"), dense(5)},
      {with_padding(conv2d(20, 3), "same"), layer("layer_norm"), with_padding(conv2d(7, 3), "same"),
       layer("relu"), pool2d("max_pool2d", 2), layer("gelu"), without_bias(conv2d(70, 1)),
       layer("batch_norm"), layer("flatten"), dense(5)},
      {with_padding(conv2d(48, 3), "same"), in_groups(with_padding(conv2d(48, 3), "same"), 48),
       with_padding(conv2d(48, 3), "same"), layer("tanh"), pool2d("avg_pool2d", 2), conv2d(80, 1),
       adaptive(2), layer("flatten"), dense(5)},
  };
  return cases;
}

// The same for layers that branch and join.
const std::vector<std::vector<LayerSpec>>& branching_cases() {
  static const std::vector<std::vector<LayerSpec>> cases = {
      {named(layer("flatten"), "f"), dense(30), add("f"), dense(5)},
      {layer("flatten"), named(dense(9), "a"), layer("relu"), dense(9), add("a"), layer("relu"), dense(5)},
      {layer("flatten"), named(dense(9), "a"), layer("sigmoid"), add("a"), layer("tanh"), dense(5)},
      {layer("flatten"), named(dense(9), "a"), add("a"), layer("gelu"), dense(5)},
      {layer("flatten"), named(dense(9), "a"), dense(5), from(add("a"), "a"), layer("relu"), dense(5),
       add("dense_1")},
      {named(layer("flatten"), "f"), named(dense(9), "a"), from(dense(9), "f"), add("a"),
       named(layer("gelu"), "g"), dense(9), add("g"), dropping(0.3), add("a"), dense(5)},
      {layer("flatten"), named(dense(9), "a"), named(dense(9), "b"), named(add("a"), "s"), add("b"), add("a"),
       from(dense(9), "s"), add("add_2"), dense(5)},
      {named(with_padding(conv2d(3, 3), "same"), "c"), layer("relu"), named(pool2d("max_pool2d", 2), "p"),
       from(pool2d("avg_pool2d", 2), "c"), add("p"), layer("flatten"), dense(5)},
      {with_padding(conv2d(3, 3), "same"), named(layer("relu"), "r"), named(pool2d("max_pool2d", 2), "p"),
       from(pool2d("avg_pool2d", 2), "r"), add("p"), layer("flatten"), dense(5)},
      {with_padding(without_bias(conv2d(4, 3)), "same"), layer("batch_norm"), named(layer("relu"), "in"),
       with_padding(conv2d(4, 3), "same"), layer("batch_norm"), layer("relu"),
       with_padding(conv2d(4, 3), "same"), layer("batch_norm"), add("in"), named(layer("relu"), "out"),
       with_stride(with_padding(conv2d(6, 3), "same"), 2), named(layer("batch_norm"), "left"),
       from(with_stride(conv2d(6, 1), 2), "out"), layer("batch_norm"), add("left"), layer("relu"),
       layer("global_avg_pool2d"), dense(5)},
      {with_padding(conv2d(4, 3), "same"), group_norm(2), named(layer("tanh"), "t"),
       with_padding(conv2d(4, 3), "same"), group_norm(4), add("t"), layer("flatten"), dense(6), group_norm(2),
       dense(5)},
      {with_padding(conv2d(4, 3), "same"), layer("relu"), named(pool2d("max_pool2d", 2), "p"),
       with_padding(conv2d(4, 3), "same"), add("p"), named(layer("relu"), "r"),
       with_padding(conv2d(4, 3), "same"), layer("relu"), with_padding(conv2d(4, 3), "same"), add("r"),
       add("p"), layer("flatten"), dense(5)},
  };
  return cases;
}

std::vector<std::vector<LayerSpec>> all_cases() {
  std::vector<std::vector<LayerSpec>> all = compiled_cases();
  all.insert(all.end(), branching_cases().begin(), branching_cases().end());
  return all;
}

struct Passed {
  at::Tensor outputs;
  std::vector<at::Tensor> gradients;
};

Passed eager_pass(Model& model, const at::Tensor& inputs) {
  at::manual_seed(5);
  Passed passed;
  model.zero_grad();
  passed.outputs = model.forward(inputs);
  (passed.outputs * slope(inputs.size(0))).sum().backward();
  for (const at::Tensor& parameter : model.parameters()) passed.gradients.push_back(parameter.grad().clone());
  return passed;
}

// Memory for a program as another one may leave it.
at::Tensor used_memory(const Program& program) { return at::full_like(program.memory(), std::nan("")); }

Passed compiled_pass(Program& program, const std::vector<at::Tensor>& gradients, const at::Tensor& inputs,
                     bool adds = false) {
  at::manual_seed(5);
  Passed passed;
  passed.outputs = program.forward(inputs).clone();
  at::Tensor gradient = program.output_gradient();
  gradient.copy_(slope(inputs.size(0)));
  size_t missing = gradients.size();
  passed.gradients.resize(missing);
  program.backward(adds, [&](size_t number) {  // each is complete when it is told of, the last ones first
    REQUIRE(number + 1 == missing);
    passed.gradients[number] = gradients[number].clone();
    missing = number;
  });
  REQUIRE(missing == 0);
  return passed;
}

TEST_CASE("a program computes what autograd does in float64, for each list of layers and batch") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const int64_t examples = GENERATE(0, 1, 13, 64);
  for (const std::vector<LayerSpec>& layers : all_cases()) {
    const LayerPlan plan = place_layers(layers, kInputShape, 5);
    REQUIRE(plan.problems.empty());
    INFO(to_string(instructions()) << ": " << examples << " examples, " << layers.size() << " layers from "
                                   << layers[0].kind);
    const auto model = build_model(plan, at::kFloat, 3), exact = build_model(plan, at::kDouble, 3);
    write_variables(*exact, [&] {
      Variables all = copy_variables(*model);
      for (auto& [name, tensor] : all) tensor = tensor.to(at::kDouble);
      return all;
    }());
    TrainSpec train;
    train.step = "compiled";
    CHECK(reason_not_to_compile(model->layers(), "float32", train) == "");
    const std::vector<at::Tensor> gradients = allocate_gradients(*model);
    Program program(*model, examples, gradients, used_memory(Program(*model, examples, gradients)));
    at::manual_seed(2);  // with 1, two numbers of which a maximum is taken differ by 1e-8
    const at::Tensor inputs = at::randn({examples, 1, 5, 6});
    const at::Tensor kept = inputs.clone();
    // In float64 other numbers would be drawn.
    const bool draws = std::any_of(layers.begin(), layers.end(),
                                   [](const LayerSpec& each) { return each.kind == "dropout"; });
    const Passed expected = eager_pass(draws ? *model : *exact, draws ? inputs : inputs.to(at::kDouble));
    for (const bool adds : {false, true}) {
      const Passed passed = compiled_pass(program, gradients, inputs, adds);
      CHECK(error_of(passed.outputs, expected.outputs) < 1e-5);
      REQUIRE(passed.gradients.size() == expected.gradients.size());
      const double scale = scale_of(expected.gradients);
      for (size_t i = 0; i < passed.gradients.size(); ++i)
        CHECK(error_of(passed.gradients[i], expected.gradients[i] * (adds ? 2 : 1), scale) < 1e-5);
    }
    CHECK(at::equal(inputs, kept));  // nothing works in place there
  }
}

TEST_CASE("a program computes dense layers and norms of each token as autograd does") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const int64_t examples = GENERATE(0, 3);
  const LayerPlan plan = place_layers({dense(7), layer("layer_norm"), layer("gelu"), without_bias(dense(6)),
                                       layer("relu"), layer("flatten"), dense(5)},
                                      {4, 9}, 5);
  REQUIRE(plan.problems.empty());
  const auto model = build_model(plan, at::kFloat, 3);
  TrainSpec train;
  CHECK(reason_not_to_compile(model->layers(), "float32", train) == "");
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, examples, gradients);
  const at::Tensor inputs = at::randn({examples, 4, 9});
  const Passed expected = eager_pass(*model, inputs);
  for (const bool adds : {false, true}) {
    const Passed passed = compiled_pass(program, gradients, inputs, adds);
    CHECK(error_of(passed.outputs, expected.outputs) < 1e-5);
    const double scale = scale_of(expected.gradients);
    for (size_t i = 0; i < passed.gradients.size(); ++i)
      CHECK(error_of(passed.gradients[i], expected.gradients[i] * (adds ? 2 : 1), scale) < 1e-5);
  }
}

TEST_CASE("a program of an evaluation computes what the model does, without dropout") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const std::vector<LayerSpec>& layers : all_cases()) {
    const auto model = build_model(place_layers(layers, kInputShape, 5), at::kFloat, 3);
    model->eval();
    Program program(*model, 13, used_memory(Program(*model, 13)));
    const at::Tensor inputs = at::randn({13, 1, 5, 6}), kept = inputs.clone();
    const at::Tensor expected = model->forward(inputs).detach();
    CHECK(error_of(program.forward(inputs), expected) < 1e-5);
    CHECK(error_of(program.forward(inputs), expected) < 1e-5);
    CHECK(at::equal(inputs, kept));
  }
}

TEST_CASE("batch_norm in a program moves its statistics as the model does, and uses them when it is frozen") {
  const LayerPlan plan = place_layers({conv2d(4, 2), layer("batch_norm"), layer("flatten"), dense(9),
                                       named(layer("batch_norm"), "second"), dense(5)},
                                      kInputShape, 5);
  const auto model = build_model(plan, at::kFloat, 3), eager = build_model(plan, at::kFloat, 3);
  const bool frozen = GENERATE(false, true);
  if (frozen) {
    for (const auto& each : {model, eager})
      each->train_layers({.each = {true, false, true, true, false, true}});
    for (const char* name : {"batch_norm.running_var", "second.running_var"}) {
      for (const auto& each : {model, eager}) each->named_buffers()[name].fill_(0.3);
    }
  }
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, 7, gradients), nobody(*model, 0, gradients);
  for (int step = 0; step < 3; ++step) {
    const at::Tensor inputs = at::randn({7, 1, 5, 6});
    at::Tensor output_gradient = program.output_gradient();
    eager->zero_grad();
    const at::Tensor expected = eager->forward(inputs);
    CHECK(error_of(program.forward(inputs), expected.detach()) < 1e-5);
    (expected * slope(7)).sum().backward();
    output_gradient.copy_(slope(7));
    program.backward(/*adds=*/false);
    std::vector<at::Tensor> expected_gradients;
    for (const at::Tensor& parameter : eager->parameters()) {
      if (parameter.requires_grad()) expected_gradients.push_back(parameter.grad());
    }
    REQUIRE(gradients.size() == expected_gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i)
      CHECK(error_of(gradients[i], expected_gradients[i], scale_of(expected_gradients)) < 2e-5);
    nobody.forward(inputs.narrow(0, 0, 0));  // moves nothing
    nobody.backward(/*adds=*/true);
    const auto moved = model->named_buffers(), expected_buffers = eager->named_buffers();
    REQUIRE(moved.size() == 4);
    for (const auto& buffer : expected_buffers) CHECK(error_of(moved[buffer.key()], buffer.value()) < 1e-6);
  }
}

TEST_CASE("frozen layers of branches get no gradient, and those before them theirs") {
  for (const std::vector<LayerSpec>& layers : branching_cases()) {
    const LayerPlan plan = place_layers(layers, kInputShape, 5);
    const auto model = build_model(plan, at::kFloat, 3), eager = build_model(plan, at::kFloat, 3);
    TrainedLayers some;  // every second layer with weights
    bool trained = GENERATE(false, true);
    for (const PlacedLayer& layer : model->layers())
      some.each.push_back(layer.parameters > 0 && (trained = !trained));
    INFO(layers.size() << " layers from " << layers[0].kind);
    for (const auto& each : {model, eager}) each->train_layers(some);
    const std::vector<at::Tensor> gradients = allocate_gradients(*model);
    Program program(*model, 6, gradients);
    const at::Tensor inputs = at::randn({6, 1, 5, 6});
    at::manual_seed(5);
    (eager->forward(inputs) * slope(6)).sum().backward();
    const Passed passed = compiled_pass(program, gradients, inputs);
    std::vector<at::Tensor> expected;
    for (const at::Tensor& parameter : eager->parameters()) {
      if (parameter.requires_grad()) expected.push_back(parameter.grad());
    }
    REQUIRE(passed.gradients.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(error_of(passed.gradients[i], expected[i], scale_of(expected)) < 2e-5);
  }
}

TEST_CASE("a program begins at the first layer that is trained, whose input several layers may read") {
  const LayerPlan plan =
      place_layers({layer("flatten"), named(dense(9), "a"), named(layer("relu"), "r"), dense(9), add("r"),
                    from(named(dense(9), "b"), "r"), add("add"), dense(5)},
                   kInputShape, 5);
  const auto model = build_model(plan, at::kFloat, 3), eager = build_model(plan, at::kFloat, 3);
  const TrainedLayers last = {.each = {false, false, false, true, true, true, true, true}, .first = 3};
  for (const auto& each : {model, eager}) each->train_layers(last);
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, 6, gradients), evaluation(*model, 6);
  const at::Tensor inputs = at::randn({6, 9}), kept = inputs.clone();
  (eager->forward(inputs) * slope(6)).sum().backward();
  const Passed passed = compiled_pass(program, gradients, inputs);
  CHECK(error_of(passed.outputs, eager->forward(inputs).detach()) < 1e-5);
  CHECK(error_of(evaluation.forward(inputs), passed.outputs) < 1e-6);
  CHECK(at::equal(inputs, kept));
  size_t number = 0;
  for (const at::Tensor& parameter : eager->parameters()) {
    if (parameter.requires_grad()) CHECK(error_of(passed.gradients[number++], parameter.grad()) < 2e-5);
  }
  CHECK(number == 6);
}

TEST_CASE("a program follows its parameters when they move to other memory") {
  const LayerPlan plan = place_layers({layer("flatten"), dense(5)}, kInputShape, 5);
  const auto model = build_model(plan, at::kFloat, 3);
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, 4, gradients);
  for (at::Tensor& parameter : model->parameters()) parameter.set_data(parameter.detach() + 1);
  const at::Tensor inputs = at::ones({4, 1, 5, 6});
  CHECK(at::allclose(program.forward(inputs), model->forward(inputs)));
}

TEST_CASE("not-a-number and infinity pass through a program") {
  const LayerPlan plan = place_layers(
      {layer("flatten"), dense(20), layer("relu"), dense(9), layer("relu"), dense(5)}, kInputShape, 5);
  const auto model = build_model(plan, at::kFloat, 3);
  const std::vector<at::Tensor> gradients = allocate_gradients(*model);
  Program program(*model, 3, gradients);
  at::Tensor inputs = at::ones({3, 1, 5, 6});
  inputs[1][0][1][1] =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const at::Tensor outputs = compiled_pass(program, gradients, inputs).outputs;
  CHECK_FALSE(outputs[1].isfinite().any().item<bool>());
  CHECK(outputs[0].isfinite().all().item<bool>());
  CHECK_FALSE(gradients[0].isfinite().all().item<bool>());
}

TEST_CASE("every kind of layer that dtrain ships but those of tokens has a compiled form") {
  const std::set<std::string> others = {"stochastic_depth",     "patch_embedding", "class_token",
                                        "positional_embedding", "attention",       "first_token"};
  for (const LayerKind* kind : shipped_layers()) {
    INFO(kind->name);
    PlacedLayer placed;
    placed.spec = layer(kind->name);
    placed.input_shape = placed.output_shape = {3, 8, 8};
    CHECK((match_layers({placed}, 0).passes == nullptr) == others.contains(kind->name));
  }
}

TEST_CASE("a convolution, its relu and maximum are one block unless it has too many weights for registers") {
  const auto at_once = [](int64_t channels, const LayerSpec& conv) {
    const LayerPlan plan =
        place_layers({conv, layer("relu"), pool2d("max_pool2d", 2)}, {channels, 14, 14}, 0);
    REQUIRE(plan.problems.empty());
    return match_layers(plan.layers, 0).layers;
  };
  CHECK(at_once(1, conv2d(32, 5)) == 3);
  CHECK(at_once(6, conv2d(16, 5)) == 3);
  CHECK(at_once(20, conv2d(50, 3)) == 3);
  CHECK(at_once(25, conv2d(64, 5)) == 3);  // 40,000
  CHECK(at_once(32, conv2d(64, 5)) == 1);
  CHECK(at_once(32, conv2d(60, 5)) == 3);  // registers would not be full
  CHECK(at_once(32, with_stride(conv2d(64, 5), 2)) == 3);
}

TEST_CASE("a model with a layer that has no compiled form is computed in eager steps") {
  const LayerPlan plan =
      place_layers({bare_layer(), layer("flatten"), dense(5), bare_layer()}, kInputShape, 5);
  REQUIRE(plan.problems.empty());
  CHECK(reason_not_to_compile(plan.layers, "float32", {}) == "layer bare (bare) has no compiled form");
  CHECK(reason_not_to_compile(plan.layers, "float32", {}, /*first=*/1) ==
        "layer bare_1 (bare) has no compiled form");
  const auto without = build_model(place_layers({layer("flatten"), dense(5)}, kInputShape, 5), at::kFloat, 3);
  const at::Tensor inputs = at::ones({2, 1, 5, 6});
  CHECK(at::equal(build_model(plan, at::kFloat, 3)->forward(inputs), without->forward(inputs * 2) * 2));
}

TEST_CASE("what cannot be compiled is named") {
  const auto reason = [](const std::vector<LayerSpec>& layers, const std::string& dtype = "float32",
                         const TrainSpec& train = {}) {
    const LayerPlan plan = place_layers(layers, {1, 8, 8}, 0);
    REQUIRE(plan.problems.empty());
    return reason_not_to_compile(plan.layers, dtype, train);
  };
  const std::vector<LayerSpec> plain = {layer("flatten"), dense(5)};
  CHECK(reason(plain) == "");
  CHECK(reason(plain, "float64") == "model.dtype: float64");
  TrainSpec train;
  train.step = "compiled";
  CHECK(reason(plain, "float32", train) == "");
  train.precision = "bf16_mixed";
  CHECK(reason(plain, "float32", train) == "train.precision: bf16_mixed");
  train = {};
  train.channels_last = true;
  CHECK(reason(plain, "float32", train) == "");
  CHECK(reason({conv2d(48), conv2d(64), layer("flatten"), dense(5)}, "float32", train) == "");
  train = {};
  train.step = "eager";
  CHECK(reason(plain, "float32", train) == "train.step: eager");
  train = {};
  train.sync_batch_norm = true;
  CHECK(reason({layer("batch_norm"), layer("flatten"), dense(5)}, "float32", train) == "");
  CHECK(reason({layer("flatten"), named(dense(5), "a"), layer("relu"), named(from(dense(5), "a"), "b")}) ==
        "nothing uses what layer relu makes");
}

}  // namespace
}  // namespace dtrain
