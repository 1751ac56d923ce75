#include "inference/evaluation.h"
#include "data/example_source.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <mutex>

#include "callbacks/kept_examples.h"
#include "catch.h"
#include "comm/group_threads.h"
#include "copied_variables.h"
#include "core/error.h"
#include "example_results.h"
#include "files.h"
#include "models/variables.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

NamedTensors some_variables(const JobPlan& job) {
  return copy_variables(*build_model(job.model, dtype_from_name(job.spec.model.dtype), 3));
}

// What `ranks` threads come to; only rank 0 has the variables.
EvaluationSums evaluate(const JobPlan& job, const ExampleSourcePtr& examples, int ranks,
                        size_t most_mistakes = 0) {
  EvaluationSums of_rank_0;
  WorstMistakes worst(most_mistakes);
  std::mutex mutex;
  with_ranks("shared_memory", ranks, [&](ProcessGroup& group) {
    const auto model = group.rank() == 0 ? trained_model(job, some_variables(job)) : initial_model(job);
    model->eval();
    const EvaluationSums sums =
        evaluate_model(job, *model, examples, group, most_mistakes, /*keeps_rows=*/true);
    const std::lock_guard lock(mutex);
    if (group.rank() == 0) of_rank_0 = sums;
    for (const WrongExample& one : sums.mistakes) worst.add(one);
  });
  of_rank_0.mistakes = worst.take();
  return of_rank_0;
}

TEST_CASE("an evaluation counts what the model predicts, whatever the number of replicas") {
  const int64_t count = GENERATE(2, 50);  // fewer than replicas, and a last batch that is not full
  const JobPlan job =
      small_job({"data.test_examples=" + std::to_string(count), "evaluate.batch_per_replica=4",
                 "data.mean=0.3", "data.standard_deviation=0.2"});
  const ExampleSourcePtr source = load_examples(job);
  REQUIRE(source->size() == count);
  const Evaluation alone = evaluation_from(evaluate(job, source, 1), job);
  const StoredExamples& examples = stored_examples_of(*source);

  const at::NoGradGuard no_grad;
  const auto model = trained_model(job, some_variables(job));
  const at::Tensor logits =
      model->forward((examples.inputs.to(at::kFloat) / 255 - 0.3) / 0.2).to(at::kDouble);
  const at::Tensor predicted = logits.argmax(1);
  std::vector<std::vector<int64_t>> confusion(3, std::vector<int64_t>(3));
  double loss = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto label = examples.targets[i].item<int64_t>();
    ++confusion[static_cast<size_t>(label)][static_cast<size_t>(predicted[i].item<int64_t>())];
    loss -= at::log_softmax(logits[i], 0)[label].item<double>();
  }
  CHECK(alone.confusion == confusion);
  CHECK(find_metric(alone.metrics, "loss").value() ==
        Approx(loss / static_cast<double>(count)).epsilon(1e-6));
  CHECK(alone.examples == count);
  int64_t right = 0;
  for (size_t label = 0; label < 3; ++label) {
    right += confusion[label][label];
    const ClassCounts& counted = alone.classes.at(label);
    CHECK(counted.correct == confusion[label][label]);
    CHECK(counted.actual == confusion[label][0] + confusion[label][1] + confusion[label][2]);
    CHECK(counted.predicted == confusion[0][label] + confusion[1][label] + confusion[2][label]);
  }
  CHECK(find_metric(alone.metrics, "accuracy") == static_cast<double>(right) / static_cast<double>(count));

  for (const int ranks : {2, 3}) {
    INFO(ranks);
    const Evaluation shared = evaluation_from(evaluate(job, source, ranks), job);
    CHECK(shared.confusion == alone.confusion);
    CHECK(shared.metrics.size() == alone.metrics.size());
    CHECK(find_metric(shared.metrics, "macro_f1") == find_metric(alone.metrics, "macro_f1"));
    CHECK(find_metric(shared.metrics, "loss").value() ==
          Approx(find_metric(alone.metrics, "loss").value()).epsilon(1e-6));
  }
}

TEST_CASE("an evaluation tells the worst mistakes, the same ones whatever the number of replicas") {
  const JobPlan job = small_job({"data.test_examples=50", "evaluate.batch_per_replica=4"});
  const ExampleSourcePtr source = load_examples(job);
  const auto mistakes_of = [&](int ranks, size_t most) {
    return evaluation_from(evaluate(job, source, ranks, most), job).mistakes;
  };
  const Evaluation counted_ones = evaluation_from(evaluate(job, source, 1), job);
  CHECK(counted_ones.mistakes.empty());
  const std::vector<WrongExample> all = mistakes_of(1, 1000);
  CHECK(std::ssize(all) == counted_ones.examples - counted_ones.correct());
  REQUIRE(all.size() > 5);
  const StoredExamples examples = stored_examples_of(*source);
  const at::NoGradGuard no_grad;
  const auto model = trained_model(job, some_variables(job));
  for (size_t i = 0; i < all.size(); ++i) {
    const WrongExample& one = all[i];
    const at::Tensor probabilities =
        model->forward(examples.inputs[one.index].unsqueeze(0).to(at::kFloat) / 255)
            .to(at::kDouble)
            .softmax(1)[0];
    CHECK(examples.targets[one.index].item<int64_t>() == one.label);
    CHECK(probabilities.argmax(0).item<int64_t>() == one.prediction);
    CHECK(one.prediction != one.label);
    CHECK(one.probability == Approx(probabilities[one.prediction].item<double>()).epsilon(1e-5));
    CHECK(one.of_label == Approx(probabilities[one.label].item<double>()).epsilon(1e-5));
    CHECK(one.name.index == one.index);
    if (i > 0) CHECK(all[i - 1].of_label <= one.of_label);
  }
  for (const int ranks : {1, 2, 3}) {
    const std::vector<WrongExample> worst = mistakes_of(ranks, 5);
    REQUIRE(worst.size() == 5);
    for (size_t i = 0; i < 5; ++i) CHECK(worst[i].index == all[i].index);
  }
}

TEST_CASE("many classes are counted without a matrix") {
  const JobPlan job = small_job({"data.classes=1001", "data.test_examples=40"});
  const Evaluation result = evaluation_from(evaluate(job, load_examples(job), 2), job);
  CHECK(result.confusion.empty());
  CHECK(result.examples == 40);
  CHECK(result.classes.size() == 1001);
  CHECK(find_metric(result.metrics, "top_5_accuracy"));
}

TEST_CASE("only the test examples are read for an evaluation, and they are those of the training") {
  const JobPlan job = small_job();
  const Dataset whole = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  const ExampleSourcePtr source = load_examples(job);
  const StoredExamples& examples = stored_examples_of(*source);
  CHECK(at::equal(examples.inputs, stored_examples_of(*whole.test).inputs));
  CHECK(at::equal(examples.targets, stored_examples_of(*whole.test).targets));
}

TEST_CASE("any part of the data can be evaluated, if there is one") {
  const JobPlan job = small_job({"data.split.validation=0.25"});
  const Dataset whole = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  const auto is = [&](const std::string& part, const ExampleSourcePtr& expected) {
    return at::equal(stored_examples_of(*load_examples(job, part)).inputs,
                     stored_examples_of(*expected).inputs);
  };
  CHECK(is("test", whole.test));
  CHECK(is("validation", whole.validation));
  CHECK(is("train", whole.train));
  CHECK(evaluation_from(evaluate(job, load_examples(job, "validation"), 2), job).examples == 4);
  CHECK(load_examples(small_job(), "train")->size() == 18);
  CHECK_THROWS_AS(load_examples(small_job(), "validation"), Error);
}

TEST_CASE("examples that data.split draws from another number than in training are doubted") {
  JobPlan job = small_job({"data.split.validation=0.25"});
  TrainingState state;
  state.dataset = job.data.name;
  state.train_examples = job.data.train_examples + 1;
  state.validation_examples = job.data.validation_examples;
  const auto is_doubted = [&](const std::string& part) {
    return !doubt_about_examples(job, state, part).empty();
  };
  CHECK_FALSE(is_doubted("validation"));  // data.train_examples is a limit
  job.spec.data.train_examples.reset();
  CHECK_THAT(doubt_about_examples(job, state, "validation"),
             ContainsSubstring("other parts here than in training, of 18 examples instead of 19: ") &&
                 ContainsSubstring("these validation examples"));
  CHECK_FALSE(is_doubted("test"));  // it is not drawn
  CHECK_FALSE(is_doubted("train"));
  job.spec.data.split.test = 0.2;
  CHECK(is_doubted("test"));

  job.spec.data.split.time = "day";
  CHECK(is_doubted("test"));
  state.train_examples -= 2;  // rows that were added since are the last
  CHECK_FALSE(is_doubted("test"));
  job.spec.data.split.time.reset();
  CHECK(is_doubted("test"));

  job.data.name = job.data.requested = state.dataset = "image_folder";
  CHECK_FALSE(is_doubted("test"));
  job.spec.data.split.stratify = true;
  CHECK(is_doubted("test"));
  ++state.train_examples;
  CHECK_FALSE(is_doubted("test"));
  job.data.requested = "tar";
  CHECK_FALSE(is_doubted("test"));  // it was trained on the fallback
  state.dataset = "tar";
  CHECK(is_doubted("test"));
}

TEST_CASE("an evaluation that flips averages the probabilities of pictures and their mirror images") {
  const JobPlan job = small_job({"evaluate.flip=true", "data.test_examples=40"});
  const ExampleSourcePtr source = load_examples(job);
  const StoredExamples& examples = stored_examples_of(*source);
  const at::NoGradGuard no_grad;
  const auto model = trained_model(job, some_variables(job));
  const at::Tensor pictures = examples.inputs.to(at::kFloat) / 255;
  const auto probabilities = [&](const at::Tensor& of) {
    return model->forward(of).to(at::kDouble).softmax(1);
  };
  const at::Tensor mean = (probabilities(pictures) + probabilities(pictures.flip({3}))) / 2;
  const double loss = -mean.log().gather(1, examples.targets.unsqueeze(1)).mean().item<double>();
  const int ranks = GENERATE(1, 3);
  const Evaluation result = evaluation_from(evaluate(job, source, ranks), job);
  CHECK(find_metric(result.metrics, "loss").value() == Approx(loss).epsilon(1e-6));
  CHECK(result.correct() == mean.argmax(1).eq(examples.targets).sum().item<int64_t>());
}

TEST_CASE("variables of another model are not evaluated") {
  const JobPlan job = small_job();
  CHECK_THROWS_AS(trained_model(job, some_variables(small_job({"model.hidden=[6]"}))), Error);
}

TEST_CASE("the results of the examples are in their order, whatever the number of replicas") {
  const JobPlan job = small_job({"data.test_examples=50", "evaluate.batch_per_replica=4", "data.mean=0.3",
                                 "data.standard_deviation=0.2"});
  const ExampleSourcePtr source = load_examples(job);
  const StoredExamples& examples = stored_examples_of(*source);
  const at::NoGradGuard no_grad;
  const auto model = trained_model(job, some_variables(job));
  const at::Tensor logits = model->forward((examples.inputs.to(at::kFloat) / 255 - 0.3) / 0.2);
  const at::Tensor losses = at::cross_entropy_loss(logits, examples.targets, {}, at::Reduction::None);
  for (const int ranks : {1, 3}) {
    const EvaluationSums sums = evaluate(job, source, ranks);
    const auto results = results_of(job, "test", at::tensor(sums.examples, at::kFloat).view({50, -1}));
    CHECK(results.outputs.size(1) == 3);
    for (int64_t i = 0; i < 50; ++i) {
      CHECK(results.targets[i].item<float>() == examples.targets[i].item<float>());
      CHECK(results.losses[i].item<float>() == Approx(losses[i].item<float>()).epsilon(1e-4));
      CHECK(results.outputs[i][2].item<float>() == Approx(logits[i][2].item<float>()).epsilon(1e-4));
    }
    const MetricValues of_results = draws_of(results).front();
    const Evaluation whole = evaluation_from(sums, job);
    for (const auto& [name, value] : whole.metrics)
      CHECK(find_metric(of_results, name).value() == Approx(value).epsilon(1e-6));
  }
  CHECK(why_not_kept(job, kMostKeptExamples).empty());
  CHECK(why_not_kept(job, kMostKeptExamples + 1) == kTooManyExamples);
}

TEST_CASE("examples are the same by their names and targets, and by data.split if that chose them") {
  const StoredExamples stored{at::zeros({2, 1, 2, 2}, at::kByte), at::tensor({0, 1}, at::kLong)};
  const auto identity = [&](const std::vector<std::string>& files,
                            const std::vector<std::string>& overrides) {
    const auto names_of = [&](std::span<const int64_t> indices) {
      std::vector<ExampleName> names;
      for (const int64_t index : indices) names.push_back({.file = files[static_cast<size_t>(index)]});
      return names;
    };
    const ExampleResults results = example_results("cross_entropy", {1, 2}, {0, 1}, {1, 0, 0, 1});
    return identity_of(small_job(overrides), results, *make_memory_source(stored, names_of));
  };
  const std::string first = identity({"a.png", "b.png"}, {});
  CHECK(identity({"a.png", "b.png"}, {"data.split.validation=0.3"}) == first);  // the test is as it was
  CHECK(identity({"a.png", "c.png"}, {}) != first);
}

TEST_CASE("the cells of a column are groups, and those without a value are one") {
  const TemporaryFolder folder;
  std::string table = "x,town,kind\n";
  for (int i = 0; i < 40; ++i) table += fmt::format("{},{},{}\n", i, i % 2 ? "Bern" : "", i < 20 ? "a" : "b");
  LoadedSpec loaded = parse_spec(
      fmt::format("name: small\nstrategy: {{kind: one_device}}\nbatch: {{per_replica: 4}}\n"
                  "data: {{dataset: csv, path: {}, target: kind, missing: mean, split: {{test: 0.5}}}}\n"
                  "model: {{kind: mlp, hidden: [5]}}\ntrain: {{epochs: 1}}\n",
                  folder.write("table.csv", table).string()),
      "small.yaml", {});
  const PlannedJob planned = plan_job(loaded, find_dataset);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const ExampleGroups groups = groups_of(planned.job, *load_examples(planned.job), "town");
  CHECK(groups.size() == 2);
  CHECK(groups.contains("(missing)"));
}

TEST_CASE("groups are folders or what a pattern finds, and their metrics those of their examples") {
  const JobPlan job = small_job({});
  const std::vector<std::string> files = {"a/x_1.png", "b/x_2.png", "a/y_3.png", "b/x_4.png"};
  const auto names_of = [&](std::span<const int64_t> indices) {
    std::vector<ExampleName> names;
    for (const int64_t index : indices) names.push_back({.file = files[static_cast<size_t>(index)]});
    return names;
  };
  const StoredExamples stored{at::zeros({4, 1, 2, 2}, at::kByte), at::tensor({0, 1, 1, 0}, at::kLong)};
  const ExampleSourcePtr source = make_memory_source(stored, names_of);
  CHECK(groups_of(job, *source, "folder") == ExampleGroups{{"a", {0, 2}}, {"b", {1, 3}}});
  CHECK(groups_of(job, *source, "([xy])_") == ExampleGroups{{"x", {0, 1, 3}}, {"y", {2}}});
  CHECK_THROWS_WITH(groups_of(job, *source, "y_"), ContainsSubstring("finds no group"));
  CHECK_THROWS_WITH(groups_of(job, *source, "(y"), ContainsSubstring("regular expression"));
  CHECK_THROWS_WITH(groups_of(job, *make_memory_source(stored), "folder"),
                    ContainsSubstring("without names"));
  const StoredExamples many{at::zeros({1001, 1, 2, 2}, at::kByte), at::zeros({1001}, at::kLong)};
  const auto numbered = [](std::span<const int64_t> indices) {
    std::vector<ExampleName> names;
    for (const int64_t index : indices) names.push_back({.file = std::to_string(index)});
    return names;
  };
  CHECK_THROWS_WITH(groups_of(job, *make_memory_source(many, numbered), "[0-9]+"),
                    ContainsSubstring("1001 groups, more than 1000"));
  const ExampleResults results =
      example_results("cross_entropy", {1, 2, 3, 4}, {0, 1, 1, 0}, {1, 0, 1, 0, 0, 1, 1, 0});
  const auto groups = metrics_by_group(results, {{"x", {0, 1, 3}}, {"y", {2}}});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "x");
  CHECK(groups[0].examples == 3);
  CHECK(find_metric(groups[0].metrics, "accuracy").value() == Approx(2.0 / 3));
  CHECK(find_metric(groups[1].metrics, "loss") == 3);
}

}  // namespace
}  // namespace dtrain
