// Phases of a training: their plan, and the trainer that goes through them.
#include <algorithm>

#include "catch.h"
#include "plan/job_plan.h"
#include "planned_jobs.h"
#include "train/fake_training.h"

namespace dtrain {
namespace {

const char* const kNormedNetwork = R"(batch: {per_replica: 64}
model:
  kind: layers
  layers:
    - {kind: conv2d, filters: 4, name: stem}
    - {kind: batch_norm}
    - {kind: relu, name: inner}
    - {kind: conv2d, filters: 4, padding: same}
    - {kind: add, with: inner}
    - {kind: global_avg_pool2d}
    - {kind: dropout, rate: 0.1}
    - {kind: dense, units: 10}
)";

JobPlan with_phases(const std::string& phases) { return plan_of(kNormedNetwork + ("phases:\n" + phases)); }

std::string trained_by(const PhasePlan& phase) {
  std::string layers;
  for (const bool trained : phase.layers.each) layers += trained ? '1' : '0';
  return layers;
}

TEST_CASE("steps that nobody waits for are finished before a phase, a check or a checkpoint") {
  Training training({"phases=[{steps: 3, trainable: head}, {steps: 6}]", "metrics.every_steps=4",
                     "checks.every_steps=5", "checkpoint.every_steps=7"});
  training.strategy.defers = true;
  training.strategy.tells_all = true;
  training.run();
  const std::vector<std::string>& calls = training.strategy.calls;
  for (const std::string call : {"phase", "check", "collect"}) {
    INFO(call);
    const auto found = std::find(calls.begin(), calls.end(), call);
    REQUIRE(found != calls.end());
    CHECK(*(found - 1) == "sums");
  }
}

TEST_CASE("phases follow each other, each with its layers and its own learning rate") {
  const JobPlan job = with_phases(
      "  - {epochs: 1, trainable: head, learning_rate: 0.5}\n"
      "  - {steps: 100, trainable: [conv2d*, dense], schedule: cosine, learning_rate: 0.25}\n"
      "  - {epochs: 2, trainable: {last_layers: 5}, name: the last}\n");
  const RunPlan& run = job.distributed_run();
  REQUIRE(run.phases.size() == 3);
  CHECK(run.total_steps == 3 * 938 + 100);
  CHECK(run.epochs == 4);
  CHECK(trained_by(run.phases[0]) == "00000001");
  CHECK(trained_by(run.phases[1]) == "00010001");
  CHECK(trained_by(run.phases[2]) == "00011111");
  CHECK(run.phases[0].parameters == 4 * 10 + 10);
  CHECK(run.phases[1].parameters == 50 + 4 * 4 * 9 + 4);
  CHECK(run.phases[1].first_step == 938);
  CHECK(run.phases[2].first_step == 1038);
  CHECK(run.learning_rate_at(937) == 0.5);
  CHECK(run.learning_rate_at(938) == 0.25);
  CHECK(run.learning_rate_at(938 + 50) == Approx(0.125));
  CHECK(run.learning_rate_at(1038) == 1e-3);  // the optimizer's
  CHECK(phase_title(run.phases, run.phases[1]) == "phase 2 of 3");
  CHECK(phase_title(run.phases, run.phases[2]) == "phase 3 of 3 (the last)");
}

TEST_CASE("features are kept up to what is trained, drawn, or used past it") {
  const auto features = [](const std::string& phase) {
    return with_phases("  - " + phase + "\n").distributed_run().phases[0].features;
  };
  CHECK(features("{epochs: 1, trainable: head}").layers == 6);  // the dropout draws anew in each step
  CHECK(features("{epochs: 1, trainable: head}").bytes == 70000 * 4 * 4);
  CHECK(features("{epochs: 1, trainable: conv2d_1}").layers == 3);
  CHECK(features("{epochs: 1, trainable: batch_norm}").layers == 1);
  CHECK(features("{epochs: 1, trainable: stem}").layers == 0);
  CHECK(features("{epochs: 1}").reason.empty());
  CHECK(features("{epochs: 1, trainable: head, cache_features: none}").reason == "cache_features: none");
  CHECK(features("{epochs: 1, trainable: head, cache_features: none}").layers == 0);
  // The sum needs the output of the layer named inner, too.
  const JobPlan crossed = plan_of(
      "batch: {per_replica: 64}\nmodel:\n  kind: layers\n  layers:\n    - {kind: flatten, name: in}\n"
      "    - {kind: dense, units: 784}\n    - {kind: add, with: in}\n    - {kind: dense, units: 784}\n"
      "    - {kind: add, with: add}\n    - {kind: dense, units: 10}\n"
      "phases: [{epochs: 1, trainable: [dense_1, dense_2]}]\n");
  CHECK(crossed.distributed_run().phases[0].features.layers == 3);
}

TEST_CASE("of a frozen vit the class token's features are kept, and with dropout only what comes before it") {
  const auto job = [](const std::string& dropout) {
    return plan_of("batch: {per_replica: 64}\nmodel: {kind: vit, size: tiny, patch: 4, dropout: " + dropout +
                   "}\nphases: [{epochs: 1, trainable: head}]\n");
  };
  const JobPlan without = job("0");
  const FeaturePlan& features = without.distributed_run().phases[0].features;
  CHECK(features.layers == std::ssize(without.model.layers) - 1);
  CHECK(features.bytes == int64_t{70000} * 192 * 4);
  CHECK(job("0.1").distributed_run().phases[0].features.layers == 3);
}

TEST_CASE("kept features go into a file for later runs where one host may keep as much") {
  const auto features = [](const std::string& choice, const std::string& more = "") {
    const std::string phases = "  - {epochs: 1, trainable: head, cache_features: " + choice + "}\n";
    return with_phases(phases + more).distributed_run().phases[0].features;
  };
  CHECK(features("auto").file == FeatureFile::kIfSlow);
  CHECK(features("disk").file == FeatureFile::kAlways);
  CHECK(features("memory").file == FeatureFile::kNone);
  CHECK(features("memory").layers == 6);
  CHECK(features("memory").no_file.empty());
  CHECK(features("none").file == FeatureFile::kNone);
  const std::string spread = "strategy: {kind: multi_worker_mirrored, replicas: 2}\nhosts: [a, b]\n";
  CHECK(features("disk", spread).file == FeatureFile::kNone);
  CHECK_THAT(features("disk", spread).no_file, ContainsSubstring("would wait"));
  const std::string narrow =
      "data: {dataset: image_folder, path: /pictures, image: {size: [28, 28]}, cache_gigabytes: 1.0e-3}\n";
  CHECK(features("disk", narrow).file == FeatureFile::kNone);
  CHECK(features("disk", narrow).no_file == "data.cache_gigabytes allows 0.001 GB");
}

TEST_CASE("augmented pictures, other views of them and 16 bits have no features to keep") {
  const auto reason = [](const std::string& more) {
    return with_phases("  - {epochs: 1, trainable: head}\n" + more)
        .distributed_run()
        .phases[0]
        .features.reason;
  };
  CHECK_THAT(reason("data: {augment: [flip]}\n"), ContainsSubstring("data.augment"));
  CHECK_THAT(reason("evaluate: {flip: true}\n"), ContainsSubstring("evaluate.flip"));
  CHECK_THAT(reason("evaluate: {zoom: 0.7}\n"), ContainsSubstring("evaluate.zoom"));
  CHECK_THAT(reason("train: {precision: bf16_mixed}\n"), ContainsSubstring("train.precision: bf16_mixed"));
}

TEST_CASE("on GPUs no features are kept, whatever the spec calls the devices") {
  JobPlan job = with_phases("  - {epochs: 1, trainable: head}\n");
  CHECK(plan_from(to_json(job)).distributed_run().phases[0].features.layers == 6);
  job.devices = {"cuda:0"};  // what auto means on another machine
  const PhasePlan phase = plan_from(to_json(job)).distributed_run().phases[0];
  CHECK(phase.features.layers == 0);
  CHECK(phase.layers.first == 0);
  CHECK_THAT(phase.features.reason, ContainsSubstring("GPUs"));
}

TEST_CASE("layers that are not there, or have nothing to train, are problems at their place") {
  const auto problems = [](const std::string& trainable) {
    return problems_in(kNormedNetwork + ("phases: [{epochs: 1, trainable: " + trainable + "}]\n"));
  };
  CHECK_THAT(problems("[densee]"), ContainsSubstring("no layer is named 'densee'; did you mean 'dense'?"));
  CHECK_THAT(problems("haed"), ContainsSubstring("no layer is named 'haed'; did you mean 'head'?"));
  CHECK_THAT(problems("[relu*, inner]"), ContainsSubstring("no layer is named 'relu*'"));
  CHECK_THAT(problems("[inner]"), ContainsSubstring("these layers have no parameters to train"));
  CHECK(problems("[stem, head]").empty());
}

TEST_CASE("max_steps ends the phases early, and those after it do not begin") {
  const JobPlan job = plan_of(kNormedNetwork + std::string("train: {max_steps: 10}\nphases:\n") +
                              "  - {steps: 7, trainable: head}\n  - {steps: 7}\n  - {steps: 7}\n");
  const RunPlan& run = job.distributed_run();
  REQUIRE(run.phases.size() == 2);
  CHECK(run.phases[1].steps == 3);
}

// 18 examples in batches of 4: 5 steps an epoch.
const std::vector<std::string> kTwoPhases = {
    "phases=[{steps: STEPS, trainable: head, learning_rate: 0.5}, {epochs: 2, learning_rate: 0.25}]"};

std::vector<std::string> two_phases(const std::string& steps) {
  std::string phases = kTwoPhases.front();
  return {phases.replace(phases.find("STEPS"), 5, steps)};
}

TEST_CASE("a phase begins before its first step, within an epoch or with one, and no example is lost") {
  const int first = GENERATE(3, 5, 7, 10);
  Training training(two_phases(std::to_string(first)));
  training.run();
  const FakeStrategy& strategy = training.strategy;
  REQUIRE(static_cast<int>(strategy.learning_rates.size()) == first + 10);
  for (int step = 0; step < first + 10; ++step) {
    CHECK(strategy.steps[static_cast<size_t>(step)] == step % 5);
    CHECK(strategy.examples[static_cast<size_t>(step)] == (step % 5 == 4 ? 2 : 4));
    CHECK(strategy.learning_rates[static_cast<size_t>(step)] == (step < first ? 0.5 : 0.25));
  }
  CHECK(std::count(strategy.calls.begin(), strategy.calls.end(), "phase") == 1);
  const auto begun = std::find(strategy.calls.begin(), strategy.calls.end(), "phase");
  CHECK(std::count(strategy.calls.begin(), begun, "train") == first);
  CHECK(training.values<int64_t>("phase", "step") == Numbers{0, first});
  CHECK(training.values<int64_t>("phase", "trained_parameters") ==
        Numbers{5 * 3 + 3, 16 * 5 + 5 + 5 * 3 + 3});
}

TEST_CASE("a resumed run is in the phase of its last step, and begins the next one itself") {
  for (const int64_t step : {2, 3, 4}) {
    Training training(two_phases("3"));
    training.strategy.steps_before = step;
    Resumption from;
    from.state.step = step;
    from.state.position = step * 4;
    from.state.global_batch = 4;
    from.state.train_examples = 18;
    from.state.schedule = {{"kind", "constant"}};
    training.run(/*evaluates=*/true, &from);
    INFO("from step " << step);
    CHECK(training.strategy.steps.front() == step);
    CHECK(std::count(training.strategy.calls.begin(), training.strategy.calls.end(), "phase") ==
          (step <= 3 ? 1 : 0));
    CHECK(training.strategy.learning_rates.front() == (step < 3 ? 0.5 : 0.25));
    CHECK(training.strategy.learning_rates.size() == static_cast<size_t>(13 - step));
  }
}

}  // namespace
}  // namespace dtrain
