#include "callbacks/inspection.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <atomic>
#include <mutex>

#include "catch.h"
#include "comm/group_threads.h"
#include "core/error.h"
#include "display/console_text.h"
#include "loader/example_order.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

constexpr int64_t kSteps = 6;

struct Replica {
  Variables variables;
  std::vector<Event> events;
};

// Trains kSteps steps as one replica of `job` and inspects step `inspected` (none: 0).
Replica train(const JobPlan& job, ProcessGroup& inspection_group, std::unique_ptr<ProcessGroup> group,
              int64_t inspected, const std::function<void(Model&)>& tamper = {}) {
  // The inspection owns its group; here it belongs to the test.
  class Borrowed : public ProcessGroup {
   public:
    explicit Borrowed(ProcessGroup& group) : ProcessGroup(group.rank(), group.size()), group_(group) {}
    void all_reduce_sum(at::Tensor& tensor) override { group_.all_reduce_sum(tensor); }
    void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
      group_.broadcast(tensors, root);
    }
    void barrier() override { group_.barrier(); }
    std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>&,
                                                           const ReducerOptions&, StepClock&) override {
      throw Error(ExitCode::kBug, "not for inspections");
    }

   private:
    ProcessGroup& group_;
  };
  const RunPlan& run = job.distributed_run();
  const int rank = group->rank();
  const Dataset dataset = load_dataset(job.spec.data, 1);
  StrategyParts parts = strategy_parts(job, job.spec.train, std::move(group), std::make_shared<StepClock>());
  const std::shared_ptr<Model> model = parts.model;
  RecordingSink sink;
  const auto inspection = std::make_shared<StepInspection>(
      model, parts.train, std::make_unique<Borrowed>(inspection_group), 1e-5, inspected, "distributed", sink);
  parts.observers.push_back(
      {[inspected](int64_t made) { return made == inspected; },
       [inspection, &tamper, model](int64_t, const GradientReducer& reducer, ProcessGroup&) {
         if (tamper) tamper(*model);
         inspection->look_at_gradients(reducer);
       }});
  const auto strategy = make_strategy(run.strategy, std::move(parts));
  strategy->place_variables();
  ShareLoader loader(dataset.train, train_options(job, run, rank));
  int64_t step = 0;
  for (int64_t epoch = 0; step < kSteps; ++epoch) {
    loader.start_epoch(epoch);
    for (std::optional<Share> share; step < kSteps && (share = loader.next()); ++step) {
      const StepContext context = {step + 1, 0.05};
      inspection->before_step(*share, context);
      strategy->train_step(*share, context);
      inspection->after_step(*share, context);
    }
  }
  Replica replica{strategy->collect_variables().model, sink.events};
  strategy->finish();
  return replica;
}

JobPlan job_of(const std::string& kind, int replicas, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"strategy.kind=" + kind, "train.optimizer.kind=sgd"};
  if (kind != "one_device") overrides.push_back("strategy.replicas=" + std::to_string(replicas));
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_job(overrides);
}

// Rank 0's event of step `inspected`.
Event inspect(const JobPlan& job, const std::string& communication, int replicas, int hosts,
              int64_t inspected) {
  Event event;
  const auto second = c10::make_intrusive<c10d::HashStore>();
  with_ranks(
      communication, replicas,
      [&](ProcessGroup& inspection_group) {
        const int rank = inspection_group.rank();
        auto group = make_group(communication, second, rank, replicas, std::chrono::seconds(20),
                                network_of(hosts, replicas, rank));
        const Replica replica = train(job, inspection_group, std::move(group), inspected);
        if (rank == 0) event = replica.events.at(0);
      },
      std::chrono::seconds(20), hosts);
  return event;
}

TEST_CASE("an inspected step shows each replica's part, and that the parts make the whole") {
  const auto [kind, communication, replicas, hosts] =
      GENERATE(table<std::string, std::string, int, int>({{"mirrored", "gloo", 2, 1},
                                                          {"mirrored", "shared_memory", 3, 1},
                                                          {"central_storage", "shared_memory", 2, 1},
                                                          {"mirrored", "auto", 4, 2}}));
  const bool adjusted = GENERATE(false, true);  // the check is of what comes before clipping
  const JobPlan job =
      job_of(kind, replicas,
             adjusted ? std::vector<std::string>{"train.clip_norm=0.01", "train.label_smoothing=0.1",
                                                 "train.ema.decay=0.9"}
                      : std::vector<std::string>{});
  const Event event = inspect(job, communication, replicas, hosts, 1);
  CHECK(event.at("passed") == true);
  CHECK(event.at("weights_equal") == true);
  CHECK(event.at("gradient_difference").get<double>() < 1e-6);
  CHECK(event.at("gradient_norm").get<double>() > 0);
  REQUIRE(event.at("replicas").size() == static_cast<size_t>(replicas));
  // Together, and in this order, the shares are the beginning of the epoch's order.
  const std::vector<int64_t> order = epoch_order(18, true, static_cast<uint64_t>(job.spec.seed), 0);
  size_t position = 0;
  double loss = 0;
  for (const Event& row : event.at("replicas")) {
    const auto indices = row.at("first_indices").get<std::vector<int64_t>>();
    CHECK(indices ==
          std::vector<int64_t>(order.begin() + static_cast<std::ptrdiff_t>(position),
                               order.begin() + static_cast<std::ptrdiff_t>(position + indices.size())));
    position += indices.size();
    CHECK(row.at("gradient_norm").get<double>() > 0);
    CHECK(row.at("weight_norm") == event.at("replicas")[0].at("weight_norm"));
    loss += row.at("loss").get<double>();
  }
  CHECK(position == std::min<size_t>(18, static_cast<size_t>(4 * replicas)));
  CHECK(loss / replicas == Approx(std::log(3)).epsilon(0.5));  // three classes, hardly trained
}

TEST_CASE("a replica without examples has no loss and no gradient, and the check still holds") {
  const JobPlan job = job_of("mirrored", 3, {"data.train_examples=13"});  // the second step has one example
  const Event event = inspect(job, "gloo", 3, 1, 2);
  CHECK(event.at("passed") == true);
  const Event& last = event.at("replicas")[2];
  CHECK(last.at("examples") == 0);
  CHECK(last.at("gradient_norm") == 0.0);
  CHECK(last.find("loss") == last.end());
}

TEST_CASE("looking at a step does not change the training") {
  // Dropout draws from the generator, batch_norm keeps statistics.
  LoadedSpec loaded = parse_spec(
      "strategy: {kind: one_device, threads_per_replica: 1}\n"
      "data: {dataset: synthetic, shape: [1, 4, 4], classes: 3, train_examples: 18, test_examples: 7}\n"
      "batch: {per_replica: 4}\n"
      "model: {kind: layers, layers: [{kind: flatten}, {kind: dense, units: 8}, {kind: batch_norm}, {kind: "
      "relu}, "
      "{kind: dropout, rate: 0.5}, {kind: dense, units: 3}]}\n",
      "layers.yaml");
  const PlannedJob planned = plan_job(loaded, find_dataset);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& job = planned.job;
  const auto run = [&](int64_t inspected) {
    at::manual_seed(7);
    const auto group = make_single_group();
    return train(job, *group, make_single_group(), inspected);
  };
  const Replica plain = run(0);
  const Replica inspected = run(3);
  CHECK(plain.events.empty());
  REQUIRE(inspected.events.size() == 1);
  CHECK(inspected.events[0].at("step") == 3);
  CHECK(inspected.events[0].at("passed") == true);
  REQUIRE(plain.variables.size() == inspected.variables.size());
  for (size_t i = 0; i < plain.variables.size(); ++i)
    CHECK(at::equal(plain.variables[i].second, inspected.variables[i].second));
}

TEST_CASE("a gradient that is not the sum, and weights that differ, are found") {
  const bool gradient = GENERATE(true, false);
  const JobPlan job = job_of("mirrored", 2);
  const auto second = c10::make_intrusive<c10d::HashStore>();
  std::atomic<int> found = 0;
  with_ranks("gloo", 2, [&](ProcessGroup& inspection_group) {
    const int rank = inspection_group.rank();
    const auto tamper = [&](Model& model) {
      const at::NoGradGuard no_grad;
      at::Tensor first = model.parameters().front();
      if (gradient) {
        first.mutable_grad().mul_(1.01);
      } else if (rank == 1) {
        first.mul_(1.01);
      }
    };
    try {
      train(job, inspection_group, make_group("gloo", second, rank, 2, std::chrono::seconds(20)), 1, tamper);
    } catch (const Error& error) {
      if (error.code() == ExitCode::kBug) ++found;
    }
  });
  CHECK(found == 2);
}

TEST_CASE("the inspected step must be one of the job's") {
  LoadedSpec loaded = small_spec({"metrics.inspect_step=16"});  // 3 epochs of 5 steps
  CHECK_THAT(problems_of(plan_job(loaded, find_dataset)),
             ContainsSubstring("metrics.inspect_step: is 16, but the job has 15 steps"));
}

TEST_CASE("an inspection reads as a table") {
  const Event event = Event::parse(R"({"event": "inspect", "run": "distributed", "step": 7, "replicas": [
      {"rank": 0, "examples": 64, "first_indices": [59999, 2, 30000, 4, 5, 6, 7, 8], "loss": 0.5,
       "gradient_norm": 0.125, "weight_norm": 12.5},
      {"rank": 1, "examples": 1, "first_indices": [17], "loss": 0.25, "gradient_norm": 0.25, "weight_norm": 12.5}],
      "gradient_norm": 0.3, "expected_gradient_norm": 0.3, "gradient_difference": 1e-8,
      "gradient_tolerance": 1e-5, "weights_equal": true, "passed": true})");
  const std::string table = inspection_table(decode<InspectEvent>(event).value());
  CHECK_THAT(table, ContainsSubstring("step 7, replica by replica"));
  CHECK_THAT(table, ContainsSubstring("59999, 2, 30000, 4, ..."));
  CHECK_THAT(table, ContainsSubstring(" 17  "));
  CHECK_THAT(table, ContainsSubstring("difference 1.0e-08, allowed 1e-05"));
  CHECK_THAT(table, ContainsSubstring("the same on every replica"));
  CHECK_THAT(table, ContainsSubstring("OK\n"));
  CHECK_THAT(inspection_table(InspectEvent()), ContainsSubstring("FAILED"));  // nothing is known
}

}  // namespace
}  // namespace dtrain
