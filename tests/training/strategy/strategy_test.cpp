#include "strategy/strategy.h"

#include <ATen/ATen.h>

#include <cmath>

#include "architectures/architectures.h"
#include "catch.h"
#include "copied_variables.h"
#include "core/error.h"
#include "models/variables.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

std::shared_ptr<Model> small_model(uint64_t seed) {
  ModelSpec spec;
  spec.hidden = {4};
  return build_model(place_layers(expand_layers(spec, 3), {1, 2, 2}, 3), at::kFloat, seed);
}

TEST_CASE("metric sums agree with hand-made ones") {
  MetricSums sums;
  const at::Tensor logits = at::tensor({2.0F, 1.0F, 0.0F, 5.0F, 0.5F, 0.25F}).view({3, 2});
  const auto objective = make_objective(TrainSpec());
  sums.add_batch(*objective, logits, at::tensor(std::vector<int64_t>{0, 0, 1}), at::scalar_tensor(6.0));
  CHECK(sums.examples() == 3);
  CHECK(sums.loss() == Approx(2.0));
  const MetricValues metrics = sums.metrics();
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0] == std::pair<std::string, double>("loss", 2.0));
  CHECK(metrics[1].first == "accuracy");
  CHECK(metrics[1].second == Approx(1.0 / 3.0));
  CHECK(sums.named() == std::map<std::string, double>{{"loss", 6}, {"correct", 1}, {"examples", 3}});
  MetricSums twice;
  twice.add(sums);
  twice.add(sums);
  CHECK(twice.examples() == 6);
  CHECK(twice.loss() == Approx(2.0));
  CHECK(std::isnan(MetricSums().loss()));
}

TEST_CASE("sums without examples are of any objective, and metrics of no examples are no numbers") {
  CHECK(MetricSums().examples() == 0);
  CHECK(MetricSums().named().empty());
  CHECK(MetricSums().metrics().empty());
  const ObjectiveInfo& objective = objective_info("cross_entropy");
  MetricSums sums(objective, 5);
  sums.add(MetricSums());
  CHECK(sums.examples() == 0);
  for (const auto& [name, value] : sums.metrics()) CHECK(std::isnan(value));
  MetricSums none;
  none.add(sums);
  CHECK(none.metrics().size() == objective.metrics.size());
}

TEST_CASE("sums are restored by their names, and those of another objective are refused") {
  const ObjectiveInfo& objective = objective_info("cross_entropy");
  const std::map<std::string, double> named = {{"loss", 6.5}, {"correct", 2}, {"examples", 3}};
  CHECK(MetricSums(objective, 5, named).named() == named);
  for (const auto& [missing, value] : named) {
    std::map<std::string, double> other = named;
    other.erase(missing);
    CHECK_THROWS_AS(MetricSums(objective, 5, other), Error);
    other["squares"] = 1;
    CHECK_THROWS_AS(MetricSums(objective, 5, other), Error);
  }
  std::map<std::string, double> more = named;
  more["squares"] = 1;
  CHECK_THROWS_AS(MetricSums(objective, 5, more), Error);
}

TEST_CASE("each output has sums of its own, by its number where there are several") {
  const ObjectiveInfo& objective = objective_info("huber");
  const auto names = objective.sum_names(2);
  CHECK(names == std::vector<std::string>{"loss", "examples", "squared_errors.0", "squared_errors.1",
                                          "absolute_errors.0", "absolute_errors.1", "targets.0", "targets.1",
                                          "squared_targets.0", "squared_targets.1"});
  CHECK(objective.target_sum_count(2) == 4);
  std::map<std::string, double> named;
  for (const std::string& name : names) named[name] = static_cast<double>(named.size() + 1);
  CHECK(MetricSums(objective, 2, named).named() == named);
  CHECK_THROWS_AS(MetricSums(objective, 3, named), Error);
  CHECK(objective.sum_names(1).back() == "squared_targets");
}

TEST_CASE("every objective of the table can be made") {
  for (const std::string& name : objective_names()) {
    TrainSpec train;
    train.loss.kind = name;
    const ObjectiveInfo& info = make_objective(train)->info();
    CHECK(info.name == name);
    CHECK(info.main().name != "loss");
    CHECK(info.metrics.front().name == "loss");
    CHECK(info.sum_names(3).at(kExamplesSum) == "examples");
    CHECK(std::ssize(info.sum_names(3)) == info.sum_count(3));
  }
  TrainSpec unknown;
  unknown.loss.kind = "nothing";
  CHECK(find_loss_kind("nothing") == nullptr);
  CHECK_THROWS_AS(make_objective(unknown), Error);
}

TEST_CASE("variables are copied and written back, and mismatches refused") {
  const auto source = small_model(1);
  const auto target = small_model(2);
  const Variables copies = copy_variables(*source);
  CHECK(relative_difference(copies, copy_variables(*target)) > 0);
  write_variables(*target, copies);
  CHECK(relative_difference(copies, copy_variables(*target)) == 0);

  Variables renamed = copies;
  renamed[0].first = "other";
  CHECK_THROWS_AS(write_variables(*target, renamed), Error);
  Variables reshaped = copies;
  reshaped[0].second = at::zeros({1});
  CHECK_THROWS_AS(write_variables(*target, reshaped), Error);
  Variables fewer = copies;
  fewer.pop_back();
  CHECK_THROWS_AS(write_variables(*target, fewer), Error);
  Variables more = copies;
  more.emplace_back("another", at::zeros({1}));
  CHECK_THROWS_AS(write_variables(*target, more), Error);
  CHECK(relative_difference(copies, copy_variables(*target)) == 0);
  Variables reversed(copies.rbegin(), copies.rend());
  CHECK_NOTHROW(write_variables(*target, reversed));
  CHECK(relative_difference(copies, copy_variables(*target)) == 0);
}

TEST_CASE("an unknown strategy is refused and the known ones are listed") {
  CHECK(strategy_names() == std::vector<std::string>{"one_device", "mirrored", "multi_worker_mirrored",
                                                     "central_storage", "parameter_server", "tpu"});
  StrategyParts parts;
  CHECK_THROWS_AS(make_strategy("quantum", std::move(parts)), Error);
}

TEST_CASE("replicas agree: anybody may ask to save or to leave, rank 0 says when to end") {
  JobSpec spec = small_spec();
  spec.strategy.kind = GENERATE("mirrored", "central_storage");
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto all = [&](const std::vector<Decision>& own) {
    const auto agreed = agree_with_threads(spec, dataset, own);
    for (const Decision& each : agreed) {
      CHECK(each.save == agreed[0].save);
      CHECK(each.leave == agreed[0].leave);
      CHECK(each.end == agreed[0].end);
      CHECK(each.steps_until == agreed[0].steps_until);
    }
    return agreed[0];
  };
  const Decision nothing = all({{.steps_until = 3}, {.end = true, .steps_until = 5}, {}});
  CHECK_FALSE(nothing.save);
  CHECK_FALSE(nothing.leave);
  CHECK_FALSE(nothing.end);  // not theirs to say
  CHECK(nothing.steps_until == 3);
  const Decision some = all({{.end = true, .steps_until = 9}, {.save = true}, {.save = true, .leave = true}});
  CHECK(some.save);
  CHECK(some.leave);
  CHECK(some.end);
  CHECK(some.steps_until == 9);
  CHECK_FALSE(all({{}, {.leave = true}}).save);
}

TEST_CASE("replicas learn for how many steps all of them have data") {
  JobSpec spec = small_spec();
  spec.strategy.kind = GENERATE("mirrored", "central_storage");
  const Dataset dataset = load_dataset(spec.data, 1);
  using Steps = std::vector<int64_t>;
  CHECK(fewest_ready_with_threads(spec, dataset, {3, 2, 5}) == Steps{2, 2, 2});
  CHECK(fewest_ready_with_threads(spec, dataset, {1, 0}) == Steps{0, 0});
  CHECK(fewest_ready_with_threads(spec, dataset, {1000, 4}) == Steps{4, 4});
  const Steps many = fewest_ready_with_threads(spec, dataset, {1000, 1000});
  CHECK(many[0] > 1);
  CHECK(many[0] <= 1000);
  CHECK(many[1] == many[0]);
}

}  // namespace
}  // namespace dtrain
