// Phases of a training that train some of the layers.
#include <ATen/ATen.h>

#include <thread>

#include "catch.h"
#include "copied_variables.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "spec/layer_kinds.h"
#include "strategy/replicas.h"
#include "strategy/servers.h"

namespace dtrain {
namespace {

constexpr int kPhaseSteps = 24;
constexpr int kSecond = 9, kThird = 17;  // the first steps of these phases

// conv2d, batch_norm, relu, flatten, dense, relu, dense
JobSpec normed_network() {
  JobSpec spec = small_spec();
  spec.model.kind = "layers";
  spec.model.dtype = "float64";
  spec.model.layers = {conv2d(4),     {.kind = "batch_norm", .own = NormFields{.momentum = 0.9}},
                       layer("relu"), layer("flatten"),
                       dense(16),     layer("relu"),
                       dense(5)};
  spec.train.sync_batch_norm = true;
  set_kind(spec.train.optimizer, "adam");
  spec.train.optimizer.learning_rate = 0.01;
  return spec;
}

// The head; what comes after the convolution; all but the convolution's own weights.
const std::vector<PhaseChange> kThreePhases = {
    {0, {.each = {false, false, false, false, false, false, true}}},
    {kSecond, {.each = {false, false, false, false, true, false, true}}},
    {kThird, {.each = {false, true, false, false, true, false, true}}}};

TEST_CASE("replicas that train in phases equal one replica with the whole batch in float64 to 1e-12") {
  JobSpec spec = normed_network();
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kPhaseSteps, nullptr, 0,
                                      /*evaluates_between=*/false, kThreePhases);
  CHECK(one.losses.back() < one.losses.front());
  const int replicas = GENERATE(2, 3);
  const std::string kind = GENERATE("mirrored", "central_storage");
  spec.strategy.kind = kind;
  spec.strategy.communication = kind == "mirrored" ? GENERATE("gloo", "shared_memory") : "shared_memory";
  const auto many =
      train_with_threads(with_batch(spec, 24 / replicas), dataset, replicas, kPhaseSteps, nullptr, 0,
                         /*evaluates_between=*/GENERATE(false, true), kThreePhases);
  CHECK(relative_difference(one.variables, many.variables) < 1e-12);
}

TEST_CASE("what a phase does not train keeps every bit, moving statistics too, on any number of replicas") {
  const JobSpec spec = with_batch(normed_network(), 8);
  const Dataset dataset = load_dataset(spec.data, 1);
  const int replicas = GENERATE(1, 2, 3);
  const auto train = [&](int steps) {
    return train_with_threads(spec, dataset, replicas, steps, nullptr, 0, /*evaluates_between=*/true,
                              kThreePhases)
        .variables;
  };
  const Variables first = train(1), head = train(kSecond), more = train(kThird), end = train(kPhaseSteps);
  for (const auto& [name, tensor] : first) {
    INFO(name);
    const bool is_head = name.rfind("dense_1.", 0) == 0, is_dense = name.rfind("dense", 0) == 0;
    CHECK(at::equal(tensor_of(head, name), tensor) == !is_head);
    CHECK(at::equal(tensor_of(more, name), tensor_of(head, name)) == !is_dense);
    CHECK(at::equal(tensor_of(end, name), tensor_of(more, name)) ==
          (name == "conv2d.weight" || name == "conv2d.bias"));
  }
}

TEST_CASE("a phase remembers only what it trains, and goes on from there with the same bits") {
  const JobSpec spec = with_batch(normed_network(), 12);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto whole = train_with_threads(spec, dataset, 2, kPhaseSteps, nullptr, 0, false, kThreePhases);
  const int at = GENERATE(4, kSecond, 12, kThird, 20);  // in the middle of each phase, and between two
  const auto begun = train_with_threads(spec, dataset, 2, at, nullptr, 0, false, kThreePhases);
  for (const auto& [name, tensor] : begun.collected.training) {
    const bool trained = name.find(".dense_1.") != std::string::npos ||
                         (at > kSecond && name.find(".dense.") != std::string::npos) ||
                         (at > kThird && name.find(".batch_norm.") != std::string::npos);
    CHECK((trained || name.rfind("optimizer.", 0) != 0 || name == "optimizer.steps"));
  }
  const auto rest =
      train_with_threads(spec, dataset, 2, kPhaseSteps, &begun.collected, at, false, kThreePhases);
  for (const auto& [name, tensor] : whole.variables)
    CHECK(at::equal(tensor_of(rest.variables, name), tensor));
}

TEST_CASE("a compiled step that trains some of the layers comes to the weights of an eager one") {
  JobSpec spec = with_batch(small_spec(), 16);
  const Dataset dataset = load_dataset(spec.data, 1);
  const int replicas = GENERATE(1, 2);
  const std::vector<PhaseChange> phases = {{0, {.each = {false, false, false, true, false, false}}},
                                           {8, {.each = {false, true, false, false, false, true}}}};
  spec.train.step = "eager";
  const auto eager = train_with_threads(spec, dataset, replicas, 16, nullptr, 0, false, phases);
  spec.train.step = "compiled";
  const auto compiled = train_with_threads(spec, dataset, replicas, 16, nullptr, 0, false, phases);
  CHECK(relative_difference(eager.variables, compiled.variables) < 1e-5);
  const auto initial = train_with_threads(spec, dataset, replicas, 0);
  CHECK(relative_difference(eager.variables, initial.variables) > 1e-3);
}

// The same training by a worker, whose servers hold what is frozen too.
JobSpec served_network(const std::string& optimizer) {
  JobSpec spec = with_batch(normed_network(), 24);
  spec.train.sync_batch_norm = false;
  set_kind(spec.train.optimizer, optimizer);
  spec.train.optimizer.weight_decay = 1e-2;
  spec.strategy.kind = "parameter_server";
  spec.strategy.workers = 1;
  return spec;
}

TEST_CASE("one worker of parameter servers trains in phases what one device does, from any step on") {
  const auto [optimizer, count] =
      GENERATE(table<std::string, int>({{"sgd", 2}, {"adam", 1}, {"adam", 2}, {"adam", 3}}));
  const JobSpec spec = served_network(optimizer);
  JobSpec alone = spec;
  alone.strategy.kind = "one_device";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(alone, dataset, 1, kPhaseSteps, nullptr, 0, /*evaluates_between=*/false,
                                      kThreePhases);
  const auto serve = [&](int servers, int steps, const CollectedVariables* from, int first) {
    Servers served(spec, *model_of(spec), options_of(1), servers, kThreePhases);
    return train(spec, dataset, served, steps, from, first, kThreePhases).front();
  };
  const WorkerResult whole = serve(count, kPhaseSteps, nullptr, 0);
  INFO(optimizer << " on " << count);
  CHECK(relative_difference(whole.variables, one.variables) < 1e-12);
  Variables remembered = whole.collected.training;  // the workers' steps are the last of them
  REQUIRE(remembered.back().first == "workers.steps");
  remembered.pop_back();
  CHECK(relative_difference(remembered, one.collected.training) < 1e-12);
  // From within each phase and from between two; where less is at stake, from one of each.
  const std::vector<int> few = {kSecond, 12}, all = {4, kSecond, 12, kThird, 20};
  for (const int at : optimizer == "adam" && count == 2 ? all : few) {
    const CollectedVariables begun = serve(count, at, nullptr, 0).collected;
    CHECK(relative_difference(serve(count, kPhaseSteps, &begun, at).variables, whole.variables) == 0);
    CHECK(relative_difference(serve(count % 3 + 1, kPhaseSteps, &begun, at).variables, whole.variables) <
          1e-12);
  }
}

TEST_CASE("workers of parameter servers leave what a phase freezes as it is") {
  JobSpec spec = served_network("sgd");
  spec.strategy.workers = 3;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto serve = [&](int steps) {
    Servers served(spec, *model_of(spec), options_of(3), 2, kThreePhases);
    return train(spec, dataset, served, steps, nullptr, 0, kThreePhases).front().variables;
  };
  const Variables first = serve(1), head = serve(kSecond), end = serve(kPhaseSteps);
  for (const auto& [name, tensor] : first) {
    INFO(name);
    if (name.rfind("dense_1.", 0) != 0) CHECK(at::equal(tensor_of(head, name), tensor));
    const bool never = name == "conv2d.weight" || name == "conv2d.bias";
    CHECK(at::equal(tensor_of(end, name), tensor) == never);
  }
}

TEST_CASE("workers of parameter servers resume, and begin a phase, with the moving statistics of worker 0") {
  JobSpec spec = served_network("sgd");
  spec.strategy.workers = 2;
  Servers servers(spec, *model_of(spec), options_of(2), 2, kThreePhases);
  const std::vector<std::shared_ptr<Model>> models = {model_of(spec), model_of(spec)};
  std::vector<std::unique_ptr<Strategy>> workers;
  for (const int worker : {0, 1})
    workers.push_back(make_worker(spec, servers, worker, 0, kThreePhases.front().layers,
                                  models[static_cast<size_t>(worker)]));
  const auto fill = [](const Model& model, double value) {
    for (const at::Tensor& buffer : model.buffers()) buffer.fill_(value);
  };
  const auto check_filled = [&](double value) {
    for (const at::Tensor& buffer : models[1]->buffers()) CHECK((buffer == value).all().item<bool>());
  };
  const auto saved = model_of(spec);
  REQUIRE_FALSE(saved->buffers().empty());
  fill(*saved, 3);
  std::thread other([&] { workers[1]->restore_variables({}, 0); });
  workers[0]->restore_variables({copy_variables(*saved), {}}, 0);
  other.join();
  check_filled(3);
  fill(*models[0], 4);
  fill(*models[1], 5);  // its own, after steps
  other = std::thread([&] { workers[1]->begin_phase(1, kThreePhases[1].layers); });
  CHECK(workers[0]->begin_phase(1, kThreePhases[1].layers));
  other.join();
  check_filled(4);
  for (const size_t worker : {1, 0}) {
    workers[worker]->end_training();
    workers[worker]->finish();
  }
  servers.join();
}

}  // namespace
}  // namespace dtrain
