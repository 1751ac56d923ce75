// Servers and workers as threads.
#include "strategy/parameter_server.h"

#include <ATen/ATen.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "catch.h"
#include "core/error.h"
#include "optim/learning_rate.h"
#include "strategy/parameter_service.h"
#include "strategy/replicas.h"
#include "strategy/variables.h"

namespace dtrain {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMinShard = 1024;  // small enough to divide the test's model

// The servers of a job, each on a thread of its own.
class Servers {
 public:
  Servers(const JobSpec& spec, const Model& model, ServiceOptions options, int servers)
      : store_(c10::make_intrusive<c10d::HashStore>()), timeout_(options.timeout) {
    std::vector<at::Tensor> parameters;
    for (const at::Tensor& parameter : model.parameters()) parameters.push_back(parameter.detach());
    for (const ServerPart& part : partition_model(model, servers, kMinShard)) {
      at::Tensor values = at::zeros({part.elements}, parameters.front().scalar_type());
      gather_pieces(part, parameters, values);
      options.stretches = stretches_of(spec.train.optimizer, model, part);
      services_.push_back(std::make_unique<ParameterService>(values, spec.train.optimizer, options));
    }
    failures_.resize(services_.size());
    for (size_t i = 0; i < services_.size(); ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Servers() { join(); }

  std::unique_ptr<PairChannel> channel(int server, int worker) const { return meet(server, worker, 1); }
  ServerAccess access(int worker) const {
    ServerAccess access;
    access.worker = worker;
    access.min_shard_bytes = kMinShard;
    for (size_t i = 0; i < services_.size(); ++i)
      access.channels.push_back(channel(static_cast<int>(i), worker));
    return access;
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // After join().
  const ParameterService& service(size_t server) const { return *services_[server]; }
  const std::string& failure(size_t server) const { return failures_[server]; }

 private:
  std::unique_ptr<PairChannel> meet(int server, int worker, int side) const {
    const std::string name = std::to_string(server) + "-" + std::to_string(worker);
    return std::make_unique<PairChannel>(
        c10::make_intrusive<c10d::PrefixStore>(name, store_), side, timeout_,
        (side == 1 ? "server " : "worker ") + std::to_string(side == 1 ? server : worker));
  }
  void serve(size_t server) {
    try {
      services_[server]->serve([&](int worker) { return meet(static_cast<int>(server), worker, 0); });
    } catch (const std::exception& error) {
      failures_[server] = error.what();
    }
  }

  StorePtr store_;
  milliseconds timeout_;
  std::vector<std::unique_ptr<ParameterService>> services_;
  std::vector<std::string> failures_;
  std::vector<std::thread> threads_;
};

std::shared_ptr<Model> model_of(const JobSpec& spec) {
  const LayerPlan plan =
      place_layers(expand_layers(spec.model, spec.data.classes), spec.data.shape, spec.data.classes);
  return build_model(plan, dtype_from_name(spec.model.dtype), static_cast<uint64_t>(spec.seed));
}

JobSpec spec_of(int workers) {
  JobSpec spec = small_spec();
  spec.strategy.kind = "parameter_server";
  spec.strategy.workers = workers;
  spec.model.dtype = "float64";
  spec.batch.per_replica = 25;
  return spec;
}

ServiceOptions options_of(int workers, milliseconds timeout = std::chrono::seconds(20)) {
  ServiceOptions options;
  options.workers = workers;
  options.timeout = timeout;
  return options;
}

std::unique_ptr<Strategy> make_worker(const JobSpec& spec, const Servers& servers, int worker) {
  StrategyParts parts;
  parts.model = model_of(spec);
  parts.train = spec.train;
  parts.group = make_single_group();
  parts.servers = servers.access(worker);
  return make_strategy("parameter_server", std::move(parts));
}

struct WorkerResult {
  std::vector<double> losses;
  int64_t examples = 0;  // as train_step tells
  Variables variables;
  std::optional<WorkersReport> report;
};

WorkerResult train_worker(const JobSpec& spec, const Dataset& dataset, const Servers& servers, int worker,
                          int steps) {
  WorkerResult result;
  const auto strategy = make_worker(spec, servers, worker);
  strategy->place_variables();
  LoaderOptions options;
  options.plan = resolve_batch(spec, spec.strategy.workers);
  options.rank = worker;
  options.seed = static_cast<uint64_t>(spec.seed);
  options.dtype = dtype_from_name(spec.model.dtype);
  ShareLoader loader(dataset.train, options);
  const LearningRate rate = resolve_learning_rate(spec.train, *spec.batch.per_replica, {24, steps});
  int step = 0;
  for (int epoch = 0; step < steps; ++epoch) {
    loader.start_epoch(epoch);
    for (std::optional<Share> share; step < steps && (share = loader.next()); ++step) {
      const MetricSums sums = strategy->sum_over_replicas(strategy->train_step(*share, rate.at(step)));
      result.losses.push_back(sums.loss());
      result.examples += sums.examples();
    }
  }
  result.report = strategy->end_training();
  result.variables = strategy->collect_variables().model;
  strategy->finish();
  return result;
}

// Trains with threads; the results are by worker.
std::vector<WorkerResult> train(const JobSpec& spec, const Dataset& dataset, Servers& servers, int steps) {
  std::vector<WorkerResult> results(static_cast<size_t>(spec.strategy.workers));
  std::vector<std::string> failures(results.size());
  std::vector<std::thread> threads;
  for (size_t worker = 0; worker < results.size(); ++worker) {
    threads.emplace_back([&, worker] {
      try {
        results[worker] = train_worker(spec, dataset, servers, static_cast<int>(worker), steps);
      } catch (const std::exception& error) {
        failures[worker] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  servers.join();
  for (const std::string& failure : failures) CHECK(failure.empty());
  return results;
}

TEST_CASE("one worker trains what one device trains, however the variables are divided") {
  const std::string optimizer = GENERATE("sgd", "rmsprop", "adam", "adamw");
  const int count = GENERATE(1, 2, 4);
  const int steps = 30;  // 24 an epoch
  JobSpec spec = spec_of(1);
  spec.train.optimizer.kind = optimizer;
  spec.train.optimizer.momentum = optimizer == "sgd" || optimizer == "rmsprop" ? 0.9 : 0;
  spec.train.optimizer.weight_decay = 1e-2;
  spec.train.optimizer.weight_decay_exclude = GENERATE("biases_and_norms", "none");
  spec.train.clip_norm = GENERATE(0.0, 0.1);  // of the worker's whole gradient, whoever gets which part
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
  spec.train.optimizer.momentum = 0;  // stale updates are momentum enough (Mitliagkas et al. 2016)
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

TEST_CASE("variables can be put back, and the servers train on from them") {
  JobSpec spec = spec_of(1);
  JobSpec other = spec;
  other.seed = 7;
  const Variables wanted = copy_variables(*model_of(other));
  Servers servers(spec, *model_of(spec), options_of(1), 2);
  const auto worker = make_worker(spec, servers, 0);
  worker->place_variables();
  CHECK(relative_difference(worker->collect_variables().model, copy_variables(*model_of(spec))) == 0);
  worker->restore_variables({wanted, {}});
  CHECK(relative_difference(worker->collect_variables().model, wanted) == 0);
  worker->end_training();
  worker->finish();
  servers.join();
}

// A worker by hand: one server that holds `elements` numbers.
class HandWorker {
 public:
  HandWorker(const Servers& servers, int worker, int64_t elements)
      : channel_(servers.channel(0, worker)), message_(elements, at::kDouble) {
    Message greeting;
    greeting.send(*channel_, RequestHeader{.request = Request::kJoin, .elements = elements});
    CHECK(greeting.receive_answer(*channel_).answer == Answer::kDone);
  }
  AnswerHeader ask(const RequestHeader& request) {
    message_.send(*channel_, request);
    AnswerHeader answer = message_.receive_answer(*channel_);
    while (answer.answer == Answer::kWait) {
      ++waits_;
      answer = message_.receive_answer(*channel_);
    }
    return answer;
  }
  double read(bool computes = true) {
    ask({.request = Request::kRead, .computes = computes ? 1 : 0});
    return value();
  }
  double value() { return message_.values()[0].item<double>(); }  // as the last answer had it
  AnswerHeader update(int64_t sequence, double gradient, double rate = 1) {
    message_.values().fill_(gradient);
    return ask({.request = Request::kUpdate,
                .sequence = sequence,
                .learning_rate = rate,
                .sums = {.loss = 2, .correct = 1, .examples = 5}});
  }
  void leave() {
    ask({.request = Request::kEndTraining});
    ask({.request = Request::kLeave});
  }
  int waits() const { return waits_; }

 private:
  std::unique_ptr<PairChannel> channel_;
  Message message_;
  int waits_ = 0;
};

struct HandJob {
  explicit HandJob(const ServiceOptions& options)
      : servers(plain(), *model_of(plain()), options, 1), elements(count(*model_of(plain()))) {}
  static JobSpec plain() {
    JobSpec spec = spec_of(1);
    spec.train.optimizer.momentum = 0;
    spec.model.initializer = "zeros";
    return spec;
  }
  static int64_t count(const Model& model) {
    int64_t elements = 0;
    for (const at::Tensor& parameter : model.parameters()) elements += parameter.numel();
    return elements;
  }
  Servers servers;
  int64_t elements;
};

TEST_CASE("an update that comes twice is made once") {
  HandJob job(options_of(1));
  HandWorker worker(job.servers, 0, job.elements);
  CHECK(worker.read() == 0);
  worker.update(1, 3);
  CHECK(worker.value() == -3);
  worker.update(1, 3);
  CHECK(worker.value() == -3);
  CHECK(worker.read() == -3);
  worker.update(2, 3);
  CHECK(worker.value() == -6);
  worker.leave();
  job.servers.join();
  CHECK(job.servers.service(0).ledger().version() == 2);
}

TEST_CASE("an old update is made with a smaller learning rate when that is asked for") {
  const bool divide = GENERATE(false, true);
  ServiceOptions options = options_of(2);
  options.divide_by_staleness = divide;
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  second.read();
  CHECK(first.update(1, 8).staleness == 0);
  CHECK(second.update(1, 8).staleness == 1);
  CHECK(second.read(/*computes=*/false) == (divide ? -12 : -16));
  second.leave();
  first.leave();
}

TEST_CASE("worker 0 is told the sums of all, once") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  second.read();
  CHECK(second.update(1, 0).sums.examples == 0);
  const SentSums sums = first.update(1, 0).sums;
  CHECK(sums.examples == 10);
  CHECK(sums.loss == 4);
  CHECK(sums.correct == 2);
  CHECK(first.ask({.request = Request::kSkip, .sequence = 2}).sums.examples == 0);
  second.leave();
  first.leave();
}

TEST_CASE("a worker that goes away in the middle costs nobody else anything") {
  ServiceOptions options = options_of(2);
  options.max_staleness = 1;
  std::atomic<int> lost = -1;
  options.on_lost = [&](int worker, const std::string&) { lost = worker; };
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements);
  {
    HandWorker second(job.servers, 1, job.elements);
    second.read();  // and never updates
  }
  for (int64_t step = 1; step <= 5; ++step) {
    first.read();
    first.update(step, 1);
  }
  first.leave();
  job.servers.join();
  CHECK(lost == 1);
  CHECK(job.servers.failure(0).empty());
  CHECK(job.servers.service(0).ledger().report().workers[1].lost);
  CHECK(at::equal(job.servers.service(0).values(), at::full({job.elements}, -5.0, at::kDouble)));
}

TEST_CASE("a worker that goes away before it has said what it is changes nothing") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements);
  job.servers.channel(0, 1).reset();
  first.leave();
  job.servers.join();
  CHECK(job.servers.service(0).ledger().version() == 0);
  CHECK(job.servers.service(0).ledger().report().workers[1].lost);
}

TEST_CASE("a worker that is silent while others wait for it is given up") {
  ServiceOptions options = options_of(2, milliseconds(400));
  options.max_staleness = 1;
  std::string reason;
  options.on_lost = [&](int, const std::string& why) { reason = why; };
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  second.read();
  for (int64_t step = 1; step <= 3; ++step) {
    first.read();
    first.update(step, 1);  // the second one waits
  }
  CHECK(first.waits() > 0);
  first.leave();
  job.servers.join();
  CHECK(reason == "it was silent for 0.4 s while others waited for it");
  CHECK(job.servers.service(0).ledger().version() == 3);
  CHECK_THROWS_AS(second.read(), Error);
}

TEST_CASE("worker 0 waits at the end until the others have ended, or are lost") {
  const bool dies = GENERATE(false, true);
  HandJob job(options_of(2));
  auto second = std::make_unique<HandWorker>(job.servers, 1, job.elements);
  std::atomic<bool> ended = false;
  std::thread chief([&] {
    HandWorker first(job.servers, 0, job.elements);
    first.ask({.request = Request::kEndTraining});
    ended = true;
    first.ask({.request = Request::kLeave});
  });
  second->read();
  second->update(1, 1);
  CHECK_FALSE(ended);
  if (!dies) second->leave();
  second.reset();
  chief.join();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
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

TEST_CASE("a request that does not exist loses its sender only") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  CHECK_THROWS_AS(second.ask({.request = static_cast<Request>(99)}), Error);
  first.read();
  first.update(1, 1);
  first.leave();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

TEST_CASE("an update out of turn is a bug of ours and ends the server") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  CHECK_THROWS_AS(second.update(1, 1), Error);  // without having read
  const auto go_on = [&] {
    for (int64_t step = 1; step < 1'000'000; ++step) {
      first.update(step, 1);
      first.read();
    }
  };
  CHECK_THROWS_AS(go_on(), Error);
  job.servers.join();
  CHECK_THAT(job.servers.failure(0), ContainsSubstring("update 1 of worker 1 out of turn"));
}

}  // namespace
}  // namespace dtrain
