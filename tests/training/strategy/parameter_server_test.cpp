// Workers that train, against one device.
#include "strategy/strategy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>

#include "catch.h"
#include "copied_variables.h"
#include "core/error.h"
#include "core/named.h"
#include "models/variables.h"
#include "optim/optimizer_specs.h"
#include "strategy/replicas.h"
#include "strategy/servers.h"

namespace dtrain {
namespace {

TEST_CASE("one worker trains what one device trains, however the variables are divided") {
  const std::string optimizer = GENERATE(from_range(optimizers_of_parts()));
  const int count = GENERATE(1, 2, 4);
  const int steps = 26;  // 24 an epoch
  JobSpec spec = spec_of(1);
  set_kind(spec.train.optimizer, optimizer);
  spec.train.optimizer.weight_decay = 1e-2;
  // Clipped is the worker's whole gradient, whoever gets which part.
  std::tie(spec.train.optimizer.weight_decay_exclude, spec.train.clip_norm) =
      GENERATE(table<std::string, double>({{"biases_and_norms", 0.1}, {"none", 0.0}}));
  spec.train.label_smoothing = 0.1;
  const Dataset dataset = load_dataset(spec.data, 1);
  JobSpec alone = spec;
  alone.strategy.kind = "one_device";
  const TrainingResult expected = train_with_threads(alone, dataset, 1, steps);

  Servers servers(spec, *model_of(spec), options_of(1), count);
  const WorkerResult result = train(spec, dataset, servers, steps).front();
  INFO(optimizer << " on " << count);
  const double difference = relative_difference(result.variables, expected.variables);
  CHECK(difference < 1e-12);
  if (optimizer == "sgd") CHECK(difference == 0);
  REQUIRE(result.losses.size() == expected.losses.size());
  for (size_t step = 0; step < result.losses.size(); ++step)
    CHECK(result.losses[step] == Approx(expected.losses[step]).epsilon(1e-12));
  REQUIRE(result.report.has_value());
  CHECK(result.report->staleness.maximum() == 0);
  CHECK(result.report->workers.at(0).updates == steps);
}

TEST_CASE("in an epoch every example is trained on once, by some worker") {
  const int workers = GENERATE(2, 3);
  JobSpec spec = spec_of(workers);
  spec.data.train_examples = 25 * workers * 4 + 1;  // in the last step all but one worker have nothing to do
  const Dataset dataset = load_dataset(spec.data, 1);
  Servers servers(spec, *model_of(spec), options_of(workers), 2);
  const auto results = train(spec, dataset, servers, 5);
  REQUIRE(results[0].report.has_value());
  int64_t examples = 0;
  for (const WorkerRecord& worker : results[0].report->workers) examples += worker.examples;
  CHECK(examples == spec.data.train_examples);
  CHECK(results[0].report->staleness.updates() == 2 * (4 * workers + 1));  // of two servers
  CHECK(results[0].examples >= results[0].report->workers[0].examples);    // of the others, what came in time
  CHECK(results[0].examples <= examples);
  for (size_t worker = 1; worker < results.size(); ++worker) {
    CHECK_FALSE(results[worker].report.has_value());
    CHECK(results[worker].examples == results[0].report->workers[worker].examples);
  }
}

TEST_CASE("several workers reach a lower loss, within the bound") {
  const std::optional<int64_t> bound = GENERATE(std::optional<int64_t>(), std::optional<int64_t>(2));
  JobSpec spec = spec_of(3);
  set_kind(spec.train.optimizer, "sgd",
           /*momentum=*/0);  // stale updates are momentum enough (Mitliagkas et al. 2016)
  const Dataset dataset = load_dataset(spec.data, 1);
  ServiceOptions options = options_of(3);
  options.max_staleness = bound;
  Servers servers(spec, *model_of(spec), options, 2);
  const auto results = train(spec, dataset, servers, 80);
  const auto mean_of = [](auto first, auto last) { return std::accumulate(first, last, 0.0) / 10; };
  const std::vector<double>& losses = results[1].losses;
  CHECK(mean_of(losses.end() - 10, losses.end()) < 0.8 * mean_of(losses.begin(), losses.begin() + 10));
  if (bound) CHECK(results[0].report->staleness.maximum() <= *bound);
}

TEST_CASE("a training goes on as if it had not ended, on another number of servers too") {
  const std::string optimizer = GENERATE(from_range(optimizers_of_parts()));
  const int after = GENERATE(1, 2);
  JobSpec spec = spec_of(1);
  set_kind(spec.train.optimizer, optimizer);
  const Dataset dataset = load_dataset(spec.data, 1);
  Servers whole(spec, *model_of(spec), options_of(1), after);
  const WorkerResult expected = train(spec, dataset, whole, 26).front();
  for (const int before : {1, 3}) {
    INFO(optimizer << " from " << before << " to " << after);
    Servers first(spec, *model_of(spec), options_of(1), before);
    const CollectedVariables saved = train(spec, dataset, first, 11).front().collected;
    CHECK(at::equal(tensor_of(saved.training, "workers.steps"), at::full({before, 1}, 11, at::kLong)));
    JobSpec other = spec;
    other.seed = 7;  // initial weights that must not count
    Servers second(other, *model_of(other), options_of(1), after);
    const WorkerResult result = train(spec, dataset, second, 26, &saved, 11).front();
    CHECK(relative_difference(result.collected.training, expected.collected.training) <=
          (before == after ? 0 : 1e-12));
    CHECK(relative_difference(result.variables, expected.variables) <= (before == after ? 0 : 1e-12));
    REQUIRE(result.losses.size() == 15);
    CHECK(std::equal(result.losses.begin(), result.losses.end(), expected.losses.end() - 15,
                     [](double a, double b) { return a == Approx(b).epsilon(1e-12); }));
  }
}

TEST_CASE("one device goes on where servers stopped, and the reverse") {
  const std::string optimizer = GENERATE("sgd", "adam");
  JobSpec spec = spec_of(1);
  set_kind(spec.train.optimizer, optimizer);
  const Dataset dataset = load_dataset(spec.data, 1);
  JobSpec alone = spec;
  alone.strategy.kind = "one_device";
  const TrainingResult expected = train_with_threads(alone, dataset, 1, 30);

  Servers first(spec, *model_of(spec), options_of(1), 2);
  const CollectedVariables served = train(spec, dataset, first, 11).front().collected;
  CHECK(relative_difference(train_with_threads(alone, dataset, 1, 30, &served, 11).variables,
                            expected.variables) < 1e-12);

  const CollectedVariables local = train_with_threads(alone, dataset, 1, 11).collected;
  Servers second(spec, *model_of(spec), options_of(1), 2);
  CHECK(relative_difference(train(spec, dataset, second, 30, &local, 11).front().variables,
                            expected.variables) < 1e-12);
}

TEST_CASE("several workers go on, each from its own step, with what worker 0 has restored") {
  const JobSpec spec = spec_of(3);
  const Dataset dataset = load_dataset(spec.data, 1);
  Servers first(spec, *model_of(spec), options_of(3), 2);
  CollectedVariables saved = train(spec, dataset, first, 5).front().collected;
  // At server 0, worker 1 was two steps behind and worker 2 lost; server 1 had made one more of worker 1.
  for (auto& [name, tensor] : saved.training) {
    if (name == "workers.steps") tensor.copy_(at::tensor({5, 3, -1, 5, 4, 7}, at::kLong).view({2, 3}));
  }
  JobSpec other = spec;
  other.seed = 7;
  Servers second(spec, *model_of(other), options_of(3), 2);
  std::vector<std::thread> others;
  std::vector<std::unique_ptr<Strategy>> workers(3);
  std::vector<int64_t> steps(3);
  for (size_t worker : {2, 1}) {
    workers[worker] = make_worker(spec, second, static_cast<int>(worker));
    others.emplace_back([&, worker] { steps[worker] = workers[worker]->restore_variables({}, 5); });
  }
  workers[0] = make_worker(spec, second, 0);
  steps[0] = workers[0]->restore_variables(saved, 5);
  for (std::thread& thread : others) thread.join();
  CHECK(steps == std::vector<int64_t>{5, 3, 5});
  const CollectedVariables again = workers[0]->collect_variables();
  CHECK(relative_difference(again.model, saved.model) == 0);
  CHECK(at::equal(tensor_of(again.training, "workers.steps"),
                  at::tensor({5, 3, 5, 5, 4, 5}, at::kLong).view({2, 3})));
  CHECK(workers[1]->collect_variables().model.empty());

  // Step 4 of worker 1 is new to server 0 alone.
  LoaderOptions options;
  options.plan = resolve_batch(spec, 3);
  options.own = {1, 2};
  options.format.dtype = at::kDouble;
  ShareLoader loader(dataset.train, options);
  loader.start_epoch(0);
  workers[1]->train_step(*loader.next(), {4, 0.1});
  CHECK(second.service(0).ledger().version() == 1);
  CHECK(second.service(1).ledger().version() == 0);
  workers[1]->train_step(*loader.next(), {5, 0.1});
  CHECK(second.service(0).ledger().version() == 2);
  CHECK(second.service(1).ledger().version() == 1);
  for (const auto& worker : {2, 1, 0}) {
    workers[static_cast<size_t>(worker)]->end_training();
    workers[static_cast<size_t>(worker)]->finish();
  }
  second.join();
}

TEST_CASE("with another number of workers all go on where worker 0 was") {
  JobSpec spec = spec_of(3);
  const Dataset dataset = load_dataset(spec.data, 1);
  Servers first(spec, *model_of(spec), options_of(3), 2);
  const CollectedVariables saved = train(spec, dataset, first, 5).front().collected;
  spec.strategy.workers = 2;
  Servers second(spec, *model_of(spec), options_of(2), 2);
  for (const WorkerResult& worker : train(spec, dataset, second, 8, &saved, 5))
    CHECK(worker.losses.size() == 3);
}

TEST_CASE("only the model is restored where there is nothing else") {
  const JobSpec spec = spec_of(1);
  JobSpec other = spec;
  other.seed = 7;
  const Variables wanted = copy_variables(*model_of(other));
  Servers servers(spec, *model_of(spec), options_of(1), 2);
  const auto worker = make_worker(spec, servers, 0);
  worker->restore_variables({wanted, {}}, 0);
  CHECK(relative_difference(worker->collect_variables().model, wanted) == 0);
  worker->end_training();
  worker->finish();
}

TEST_CASE("what servers find too large makes what is collected suspect") {
  const JobSpec spec = spec_of(1);
  ServiceOptions options = options_of(1);
  options.check_every = GENERATE(0, 1);
  Servers servers(spec, *model_of(spec), options, 2);
  const auto worker = make_worker(spec, servers, 0);
  worker->place_variables();
  CHECK(worker->collect_variables().suspicion.empty());
  servers.service(1).values()[3].fill_(-1e30);
  const std::string suspicion = worker->collect_variables().suspicion;
  CHECK(suspicion.find("the largest weight of server 1 is 1e+30") ==
        (options.check_every == 0 ? std::string::npos : 0));
  worker->end_training();
  worker->finish();
}

TEST_CASE("a checkpoint of another model is refused") {
  JobSpec spec = spec_of(1);
  const Dataset dataset = load_dataset(spec.data, 1);
  Servers first(spec, *model_of(spec), options_of(1), 2);
  const CollectedVariables saved = train(spec, dataset, first, 2).front().collected;
  spec.model.hidden = {32, 17};
  Servers second(spec, *model_of(spec), options_of(1), 2);
  auto worker = make_worker(spec, second, 0);
  CHECK_THROWS_WITH(worker->restore_variables(saved, 2), ContainsSubstring("has another shape"));
  worker.reset();
}

TEST_CASE("a worker of another model is refused and told why") {
  JobSpec spec = spec_of(1);
  Servers servers(spec, *model_of(spec), options_of(1), 2);
  spec.model.hidden = {32, 17};
  const auto worker = [&] { return make_worker(spec, servers, 0); };
  auto strategy = worker();
  try {
    strategy->place_variables();
    FAIL("was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("server 0 holds ") && ContainsSubstring("same spec"));
  }
  strategy.reset();
  servers.join();
  CHECK(servers.failure(0) == "every worker was lost");
}

}  // namespace
}  // namespace dtrain
