// A training that is collected, restored elsewhere and goes on.
#include "step/collect.h"

#include <ATen/ATen.h>

#include <string>
#include <tuple>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "core/named.h"
#include "data/dataset.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "same_tensors.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kFirst = 7;  // steps before the break; within the first epoch
constexpr int kStepsInAll = 20;

JobSpec spec_with(const std::string& optimizer) {
  JobSpec spec = small_spec();
  spec.batch.global = 24;
  set_kind(spec.train.optimizer, optimizer);
  spec.train.optimizer.learning_rate = 0.01;
  return spec;
}

// Every optimizer, where a replica has parts of its memory; over gloo each has all of it, and one will do.
std::vector<std::tuple<std::string, std::string, int>> divisions() {
  std::vector<std::tuple<std::string, std::string, int>> all = {{"adam", "gloo", 2}, {"adam", "gloo", 3}};
  for (const std::string& optimizer : names_of_rows(all_optimizers()))
    for (const int replicas : {1, 2, 3}) all.emplace_back(optimizer, "shared_memory", replicas);
  return all;
}

TEST_CASE("a training that was collected and restored goes on bit for bit, optimizer and all") {
  const auto [optimizer, communication, replicas] = GENERATE(from_range(divisions()));
  JobSpec spec = spec_with(optimizer);
  spec.strategy.communication = communication;
  INFO(communication << " " << spec.train.optimizer.kind << " " << replicas);
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, replicas, kStepsInAll);
  const TrainingResult before = train_with_threads(spec, dataset, replicas, kFirst);
  const TrainingResult after =
      train_with_threads(spec, dataset, replicas, kStepsInAll, &before.collected, kFirst);
  CHECK_FALSE(same_tensors(before.variables, after.variables));
  if (communication == "gloo" && replicas > 2) {  // sums in another order in the first step
    CHECK(relative_difference(whole.variables, after.variables) < 1e-6);
    return;
  }
  CHECK(same_tensors(whole.variables, after.variables));
  CHECK(std::vector<double>(whole.losses.begin() + kFirst, whole.losses.end()) == after.losses);
  for (const auto& [name, tensor] : whole.collected.training) {
    if (name != "replicas.generator") CHECK(at::equal(tensor, tensor_of(after.collected.training, name)));
  }
}

TEST_CASE("what lies in memory as channels_last is collected and restored as the numbers that it is") {
  JobSpec spec = spec_with("adam");
  spec.model.kind = "cnn";
  spec.model.filters = {3};
  spec.model.dtype = "float64";
  spec.strategy.communication = "gloo";
  const int replicas = GENERATE(1, 2);
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult host = train_with_threads(spec, dataset, replicas, kStepsInAll);
  spec.strategy.devices = {"cuda"};
  spec.train.channels_last = true;
  const TrainingResult before = train_with_threads(spec, dataset, replicas, kFirst);
  const TrainingResult after =
      train_with_threads(spec, dataset, replicas, kStepsInAll, &before.collected, kFirst);
  CHECK(relative_difference(host.variables, after.variables) < 1e-12);
  spec.train.channels_last = false;
  const TrainingResult plain =
      train_with_threads(spec, dataset, replicas, kStepsInAll, &before.collected, kFirst);
  CHECK(relative_difference(host.variables, plain.variables) < 1e-12);
}

TEST_CASE("averaged weights are what is collected, and training goes on with the others bit for bit") {
  JobSpec spec = spec_with("adam");
  spec.train.ema.decay = 0.9;
  const auto [kind, communication] = GENERATE(table<std::string, std::string>(
      {{"mirrored", "shared_memory"}, {"mirrored", "gloo"}, {"central_storage", "auto"}}));
  spec.strategy.kind = kind;
  spec.strategy.communication = communication;
  const int replicas = GENERATE(1, 2);
  INFO(kind << " " << communication << " " << replicas);
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, replicas, kStepsInAll);
  const TrainingResult before = train_with_threads(spec, dataset, replicas, kFirst);
  const TrainingResult after =
      train_with_threads(spec, dataset, replicas, kStepsInAll, &before.collected, kFirst);
  CHECK(same_tensors(whole.variables, after.variables));
  CHECK(same_tensors(whole.collected.training, after.collected.training));
  CHECK(std::vector<double>(whole.losses.begin() + kFirst, whole.losses.end()) == after.losses);
  CHECK(whole.evaluation_loss == after.evaluation_loss);

  JobSpec plain = spec;
  plain.train.ema.decay = 0;
  const TrainingResult without = train_with_threads(plain, dataset, replicas, kStepsInAll);
  CHECK(whole.losses == without.losses);  // training does not see the average
  CHECK(whole.evaluation_loss != without.evaluation_loss);
  for (const auto& [name, tensor] : without.variables) {
    CHECK(at::equal(tensor_of(whole.collected.training, "optimizer.weights." + name), tensor));
    CHECK_FALSE(at::equal(tensor_of(whole.collected.model, name), tensor));
  }
}

TEST_CASE("the loss scale goes on bit for bit, and begins afresh after another precision") {
  JobSpec spec = spec_with("adam");
  spec.train.precision = "fp16_mixed";
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, 2, kStepsInAll);
  CollectedVariables before = train_with_threads(spec, dataset, 2, kFirst).collected;
  const TrainingResult after = train_with_threads(spec, dataset, 2, kStepsInAll, &before, kFirst);
  CHECK(same_tensors(whole.variables, after.variables));
  CHECK(same_tensors(whole.collected.training, after.collected.training));
  const at::Tensor scale = tensor_of(whole.collected.training, "loss_scale");
  CHECK(scale[1].item<double>() == kStepsInAll);  // without an overflow
  std::erase_if(before.training, [](const auto& item) { return item.first == "loss_scale"; });
  const TrainingResult afresh = train_with_threads(spec, dataset, 2, kStepsInAll, &before, kFirst);
  CHECK(tensor_of(afresh.collected.training, "loss_scale")[1].item<double>() == kStepsInAll - kFirst);
  JobSpec exact = spec;
  exact.train.precision = "float32";
  CHECK_NOTHROW(train_with_threads(exact, dataset, 2, kStepsInAll, &whole.collected, kStepsInAll));
}

TEST_CASE("the average of the weights follows its recurrence from the initial weights on") {
  JobSpec spec = spec_with("sgd");
  spec.model.dtype = "float64";
  const Dataset dataset = load_dataset(spec.data, 42);
  std::vector<Variables> weights;
  for (int steps = 0; steps <= 4; ++steps)
    weights.push_back(train_with_threads(spec, dataset, 2, steps).variables);
  spec.train.ema.decay = 0.75;
  const Variables averages = train_with_threads(spec, dataset, 2, 4).variables;
  for (size_t i = 0; i < averages.size(); ++i) {
    at::Tensor expected = weights[0][i].second.clone();
    for (size_t step = 1; step <= 4; ++step) expected = 0.75 * expected + 0.25 * weights[step][i].second;
    CHECK(at::allclose(averages[i].second, expected, 1e-12, 1e-14));
  }
  CHECK(relative_difference(averages, weights[4]) > 1e-4);
}

TEST_CASE("a model alone is where both the weights and their average begin") {
  JobSpec spec = spec_with("sgd");
  const Dataset dataset = load_dataset(spec.data, 42);
  CollectedVariables trained = train_with_threads(spec, dataset, 2, kFirst).collected;
  trained.training.clear();
  spec.train.ema.decay = 0.9;
  const TrainingResult restored = train_with_threads(spec, dataset, 2, 0, &trained);
  CHECK(same_tensors(restored.variables, trained.model));
  for (const auto& [name, tensor] : trained.model)
    CHECK(at::equal(tensor_of(restored.collected.training, "optimizer.weights." + name), tensor));
}

TEST_CASE("variables that replicas share are restored too") {
  JobSpec spec = spec_with("adam");
  spec.strategy.kind = "central_storage";
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, 2, kStepsInAll);
  const TrainingResult before = train_with_threads(spec, dataset, 2, kFirst);
  CHECK(same_tensors(whole.variables,
                     train_with_threads(spec, dataset, 2, kStepsInAll, &before.collected, kFirst).variables));
}

TEST_CASE("another number of replicas, or another strategy, goes on to the same weights") {
  const JobSpec spec = spec_with("adam");
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, 2, kStepsInAll);
  const TrainingResult before = train_with_threads(spec, dataset, 2, kFirst);
  for (const int replicas : {1, 3, 4}) {
    JobSpec other = spec;
    if (replicas == 4) other.strategy.kind = "central_storage";
    const TrainingResult after =
        train_with_threads(other, dataset, replicas, kStepsInAll, &before.collected, kFirst);
    INFO(replicas << " replicas");
    CHECK(relative_difference(whole.variables, after.variables) < 1e-6);
    CHECK(whole.losses.back() == Approx(after.losses.back()).epsilon(1e-6));
  }
}

TEST_CASE("each replica's moving statistics come back, and their mean at another number of replicas") {
  JobSpec spec = spec_with("sgd");
  spec.model.kind = "layers";
  spec.model.layers = {layer("flatten"), layer("batch_norm"), dense(5)};
  const Dataset dataset = load_dataset(spec.data, 42);
  const TrainingResult whole = train_with_threads(spec, dataset, 2, kStepsInAll);
  const TrainingResult before = train_with_threads(spec, dataset, 2, kFirst);
  const TrainingResult after = train_with_threads(spec, dataset, 2, kStepsInAll, &before.collected, kFirst);
  CHECK(same_tensors(whole.variables, after.variables));
  CHECK(whole.evaluation_loss == after.evaluation_loss);
  CHECK_NOTHROW(train_with_threads(spec, dataset, 3, kStepsInAll, &before.collected, kFirst));
}

TEST_CASE("the optimizer's memory has the shapes of the parameters, whoever holds which part") {
  const JobSpec spec = spec_with("adam");
  const Dataset dataset = load_dataset(spec.data, 42);
  const CollectedVariables one = train_with_threads(spec, dataset, 1, 2).collected;
  const CollectedVariables three = train_with_threads(spec, dataset, 3, 2).collected;
  REQUIRE(one.training.size() == three.training.size());
  for (const auto& [name, tensor] : one.training) {
    const at::Tensor other = tensor_of(three.training, name);
    if (name == "replicas.generator") {
      CHECK(tensor.size(0) == 1);
      CHECK(other.size(0) == 3);
    } else {
      CHECK(tensor.sizes() == other.sizes());
      CHECK(at::allclose(tensor.to(at::kDouble), other.to(at::kDouble), 1e-4, 1e-6));
    }
  }
  for (const auto& [name, tensor] : one.model) {
    CHECK(tensor_of(one.training, "optimizer.average." + name).sizes() == tensor.sizes());
    CHECK(tensor_of(one.training, "optimizer.square_average." + name).sizes() == tensor.sizes());
  }
  CHECK(tensor_of(one.training, "optimizer.steps").item<int64_t>() == 2);
}

TEST_CASE("without what training needs only the model is restored") {
  const JobSpec spec = spec_with("adam");
  const Dataset dataset = load_dataset(spec.data, 42);
  CollectedVariables trained = train_with_threads(spec, dataset, 2, kFirst).collected;
  trained.training.clear();
  const TrainingResult restored = train_with_threads(spec, dataset, 2, 0, &trained);
  CHECK(same_tensors(restored.variables, trained.model));
  CHECK(tensor_of(restored.collected.training, "optimizer.steps").item<int64_t>() == 0);
}

TEST_CASE("what is of another model or optimizer is refused") {
  const JobSpec spec = spec_with("adam");
  const Dataset dataset = load_dataset(spec.data, 42);
  const CollectedVariables trained = train_with_threads(spec, dataset, 1, 2).collected;
  const auto refusal = [&](const JobSpec& other, const CollectedVariables& from) -> std::string {
    try {
      train_with_threads(other, dataset, 1, 3, &from, 2);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kCheckpoint);
      return error.what();
    }
    return "not refused";
  };
  CHECK_THAT(refusal(spec_with("rmsprop"), trained), ContainsSubstring("of another optimizer"));
  CHECK_THAT(refusal(spec_with("sgd"), trained), ContainsSubstring("'optimizer.momentum."));
  JobSpec wider = spec;
  wider.model.hidden = {32, 17};
  CHECK_THAT(refusal(wider, trained), ContainsSubstring("use the spec that it was trained with"));
  CollectedVariables spoiled = trained;
  for (auto& [name, tensor] : spoiled.training) {
    if (name == "replicas.generator") tensor = at::zeros_like(tensor);
  }
  CHECK_THAT(refusal(spec, spoiled), ContainsSubstring("no state of a generator"));
}

}  // namespace
}  // namespace dtrain
