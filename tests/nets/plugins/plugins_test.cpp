// A plug-in with a kind of each sort (tests/plugins/kinds.cpp), loaded into this program.
#include <ATen/ATen.h>

#include <cstdlib>

#include "catch.h"
#include "core/error.h"
#include "job_file/load.h"
#include "job_file/print.h"
#include "models/layer_kinds.h"
#include "models/model.h"
#include "models/variables.h"
#include "objective/objective.h"
#include "optim/optimizer.h"
#include "plugins/load_plugin.h"
#include "plugins/plugin_kinds.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

std::string library(const std::string& name) { return DTRAIN_PLUGINS "/lib" + name + ".so"; }

LoadedSpec read(const std::string& text) {
  set_plugin_loader(load_plugin);
  return parse_spec("plugins: [" + library("kinds") + "]\nbatch: {per_replica: 8}\n" + text, "job.yaml");
}

JobSpec valid(const std::string& text) {
  const LoadedSpec loaded = read(text);
  INFO((loaded.ok() ? "" : loaded.problems.front().to_string()));
  REQUIRE(loaded.ok());
  return loaded.spec;
}

std::string problem(const std::string& text) {
  const LoadedSpec loaded = read(text);
  REQUIRE_FALSE(loaded.ok());
  return loaded.problems.front().to_string();
}

std::string failure(const std::string& name, const char* fault = "") {
  setenv("DTRAIN_TEST_FAULT", fault, /*overwrite=*/1);
  try {
    load_plugin(library(name));
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("A spec has the kinds and fields of a plug-in, checked and completed", "[plugins]") {
  const JobSpec spec = valid(
      "model: {kind: layers, layers: [{kind: flatten}, {kind: scale, by: 3}, {kind: dense, units: 4}]}\n"
      "train: {loss: {kind: focal, gamma: 1.5}, optimizer: {kind: heavy_ball}}\n");
  CHECK(spec.plugin_versions == std::vector<std::string>{"kinds 0.1.0"});
  const std::string printed = print_spec(spec);
  CHECK_THAT(printed, ContainsSubstring("{kind: scale, by: 3"));
  CHECK_THAT(printed, ContainsSubstring("gamma: 1.5"));
  CHECK_THAT(printed, ContainsSubstring("inertia: 0.9"));  // not written: the usual value
  CHECK_THAT(printed, ContainsSubstring("plugin_versions: [\"kinds 0.1.0\"]"));
  const LoadedSpec again = parse_spec(printed, "printed");
  REQUIRE(again.ok());
  CHECK(print_spec(again.spec) == printed);

  CHECK_THAT(problem("model: {kind: gated_mlp, gated_units: 0}"),
             ContainsSubstring("1 to 1e+06") || ContainsSubstring("1 to 1000000"));
  CHECK_THAT(problem("model: {kind: gated_mlp, gated_unit: 3}"), ContainsSubstring("gated_units"));
  CHECK_THAT(problem("model: {kind: gated_mlp}\ntrain: {loss: {kind: focal, gamma: [1]}}"),
             ContainsSubstring("train.loss.gamma"));
  CHECK_THAT(problem("model: {kind: gan}\ntrain: {loss: {kind: adversarial, noise: white}}"),
             ContainsSubstring("drawn, of_example"));
  CHECK_THAT(problem("model: {kind: mlp, gated_units: 3}"), ContainsSubstring("gated_mlp"));
}

TEST_CASE("A run's plug-ins have to be those that it has noted", "[plugins]") {
  CHECK(read("plugin_versions: [kinds 0.1.0]").ok());
  CHECK_THAT(problem("plugin_versions: [kinds 0.0.9]"),
             ContainsSubstring("the plug-ins are kinds 0.1.0, and this is of a run with kinds 0.0.9"));
}

TEST_CASE("What is wrong with a library of a plug-in is said", "[plugins]") {
  CHECK_THAT(failure("absent"), ContainsSubstring("there is no such file"));
  CHECK_THAT(failure("refused_1"), ContainsSubstring("version 1000 of the interface") &&
                                       ContainsSubstring("has version 1; build it against the headers"));
  CHECK_THAT(failure("refused_2"),
             ContainsSubstring("LibTorch 1.13.1") && ContainsSubstring("build it with the same"));
  CHECK_THAT(failure("refused_3"),
             ContainsSubstring("undefined symbol") && ContainsSubstring("function_of_another_libtorch"));
  CHECK_THAT(failure("refused_4"), ContainsSubstring("it has no DTRAIN_PLUGIN"));
  CHECK_THAT(failure("failing", "throws"),
             ContainsSubstring("plug-in failing, adding its kinds: no licence was found"));
}

TEST_CASE("A plug-in's model is built from the seed, and has its modules' names", "[plugins]") {
  const JobSpec spec = valid("model: {kind: gated_mlp, gated_units: 5, dtype: float64}");
  const LayerPlan plan = place_plugin_model(spec.model, {1, 2, 3}, 4, "");
  REQUIRE(plan.problems.empty());
  CHECK(plan.parameters() == 2 * (6 * 5 + 5) + 5 * 4 + 4);
  CHECK(plan.output_shape() == Shape{4});
  const auto model = build_model(plan, at::kDouble, 7), same = build_model(plan, at::kDouble, 7);
  const Variables variables = named_variables(*model);
  CHECK(variables.front().first == "values.weight");
  CHECK(variables.front().second.scalar_type() == at::kDouble);
  CHECK(at::equal(variables.front().second, named_variables(*same).front().second));
  const auto other = build_model(plan, at::kDouble, 8);
  CHECK_FALSE(at::equal(variables.front().second, named_variables(*other).front().second));

  const at::Tensor input = at::rand({3, 1, 2, 3}, at::kDouble);
  const auto by_name = [&](const std::string& name) { return model->named_parameters()[name]; };
  const auto linear = [&](const std::string& name, const at::Tensor& rows) {
    return at::linear(rows, by_name(name + ".weight"), by_name(name + ".bias"));
  };
  const at::Tensor rows = input.flatten(1);
  CHECK(at::allclose(model->forward(input),
                     linear("head", linear("values", rows) * at::sigmoid(linear("gates", rows))), 1e-14,
                     1e-14));
}

TEST_CASE("A model of a plug-in with wrong outputs is refused", "[plugins]") {
  const JobSpec spec = valid("model: {kind: gan}");
  const LayerPlan plan = place_plugin_model(spec.model, {4}, 10, "");
  REQUIRE(plan.problems.size() == 1);
  CHECK_THAT(plan.problems.front().text, ContainsSubstring("plug-in kinds, model 'gan': gives []") &&
                                             ContainsSubstring("10 classes need [10]"));
}

TEST_CASE("A model for a step may give a number for each example", "[plugins]") {
  const JobSpec spec = valid("model: {kind: gan}");
  const LayerPlan plan = place_plugin_model(spec.model, {4}, 10, "", /*any_outputs=*/true);
  REQUIRE(plan.problems.empty());
  CHECK(plan.output_shape().empty());
  CHECK(build_model(plan, at::kFloat, 1)->outputs() == 1);
}

TEST_CASE("A layer of a plug-in stands among ours", "[plugins]") {
  const JobSpec spec =
      valid("model: {kind: layers, layers: [{kind: dense, units: 3}, {kind: scale, by: 4, name: four}]}");
  const LayerPlan plan = place_layers(spec.model.layers, {2}, 3);
  REQUIRE(plan.problems.empty());
  CHECK(plan.layers.at(1).parameters == 1);
  const auto model = build_model(plan, at::kDouble, 1);
  CHECK(model->named_parameters()["four.factor"].item<double>() == 4);
  const at::Tensor input = at::rand({5, 2}, at::kDouble);
  const at::Tensor dense =
      at::linear(input, model->named_parameters()["dense.weight"], model->named_parameters()["dense.bias"]);
  CHECK(at::equal(model->forward(input), dense * 4));
  // A batch without examples has gradients of zero for every parameter.
  model->train();
  model->forward(at::empty({0, 2}, at::kDouble)).sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    INFO(parameter.key());
    REQUIRE(parameter.value().grad().defined());
    CHECK(parameter.value().grad().abs().sum().item<double>() == 0);
  }
  const auto outline = outline_model(plan, at::kDouble);
  CHECK(outline->named_parameters()["four.factor"].is_meta());
  // What is frozen is in evaluation mode, and needs no gradient.
  model->train_layers({.each = {true, false}});
  CHECK_FALSE(model->named_parameters()["four.factor"].requires_grad());
}

TEST_CASE("Parameters that a layer of a plug-in has frozen are never trained", "[plugins]") {
  const JobSpec spec =
      valid("model: {kind: layers, layers: [{kind: dense, units: 3}, {kind: fixed}, {kind: scale}]}");
  const LayerPlan plan = place_layers(spec.model.layers, {2}, 3);
  REQUIRE(plan.problems.empty());
  CHECK(plan.layers.at(1).parameters == 0);
  CHECK(plan.layers.at(1).buffers == 3);
  const auto model = build_model(plan, at::kDouble, 1);
  for (const TrainedLayers& layers :
       {TrainedLayers(), TrainedLayers{.each = {false, true, true}}, TrainedLayers()}) {
    model->train_layers(layers);
    for (const auto& parameter : model->named_parameters()) {
      INFO(parameter.key());
      const bool is_frozen = !layers.each.empty() && parameter.key().starts_with("dense");
      CHECK(parameter.value().requires_grad() == (parameter.key() != "fixed.factors" && !is_frozen));
    }
  }
}

TEST_CASE("A loss of a plug-in has the metrics of the loss that it is like", "[plugins]") {
  const JobSpec spec = valid("model: {kind: gated_mlp}\ntrain: {loss: {kind: focal, gamma: 0}}");
  const auto loss = make_objective(spec.train);
  const at::Tensor outputs = at::randn({6, 4}, at::kDouble);
  const at::Tensor targets = at::tensor({0, 1, 2, 3, 0, 1}, at::kLong);
  // Without a gamma it is the cross-entropy.
  CHECK(at::allclose(loss->training_losses(outputs, targets),
                     at::cross_entropy_loss(outputs, targets, {}, at::Reduction::None), 1e-14, 1e-14));
  CHECK(loss->info().metrics.at(1).name == "accuracy");
  CHECK_THAT(problem("model: {kind: gated_mlp}\ntrain: {loss: focal, label_smoothing: 0.1}"),
             ContainsSubstring("train.label_smoothing"));
}

TEST_CASE("A loss of a plug-in gets outputs and targets of one type", "[plugins]") {
  const auto loss = make_objective(valid("model: {kind: gated_mlp}\ntrain: {loss: yes_no}").train);
  const at::Tensor outputs = at::randn({6, 2}, at::kDouble);  // as `dtrain eval` has them
  const at::Tensor targets = at::rand({6, 2}, at::kFloat);
  const at::Tensor expected =
      at::binary_cross_entropy_with_logits(outputs, targets.to(at::kDouble), {}, {}, at::Reduction::None);
  CHECK(at::allclose(loss->evaluation_losses(outputs, targets), expected.mean(1), 1e-10, 1e-10));
}

TEST_CASE("An optimizer of a plug-in is that of its formula", "[plugins]") {
  const JobSpec spec = valid(
      "model: {kind: gated_mlp}\ntrain: {optimizer: {kind: heavy_ball, inertia: 0.5, weight_decay: 0.1}}");
  at::Tensor parameter = at::tensor({1.0, -2.0}, at::kDouble);
  parameter.mutable_grad() = at::tensor({0.5, 0.25}, at::kDouble);
  const auto optimizer = make_optimizer(spec.train.optimizer, {parameter});
  at::Tensor expected = parameter.clone(), velocity = at::zeros_like(parameter);
  for (int step = 0; step < 3; ++step) {
    velocity = velocity * 0.5 + parameter.grad() + expected * 0.1;
    expected = expected - velocity * 0.01;
    optimizer->step(0.01);
  }
  CHECK(at::allclose(parameter, expected, 1e-14, 1e-14));
  CHECK(optimizer->memory().front().name == "velocity");
  CHECK(optimizer->steps() == 3);
}

TEST_CASE("A step of a plug-in is no loss: what it cannot do is refused", "[plugins]") {
  const std::string gan = "model: {kind: gan}\ntrain: {loss: {kind: adversarial}";
  CHECK(valid(gan + "}").train.loss.kind == "adversarial");
  CHECK_THAT(problem(gan + "}\nstrategy: {kind: parameter_server, workers: 2}"),
             ContainsSubstring("training step of a plug-in"));
  CHECK_THAT(problem(gan + ", precision: bf16_mixed}"), ContainsSubstring("train.precision"));
  CHECK_THAT(problem(gan + "}\nmetrics: {inspect_step: 1}"), ContainsSubstring("metrics.inspect_step"));
  CHECK_THAT(problem(gan + "}\nevaluate: {flip: true}"), ContainsSubstring("evaluate.flip"));
  CHECK(valid(gan + "}\ncheckpoint: {best: {metric: generator_loss}}").checkpoint.best.metric ==
        "generator_loss");
}

}  // namespace dtrain
