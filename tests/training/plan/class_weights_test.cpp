// The weights of classes as they are written, and as training gets them.
#include "plan/class_weights.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "data/example_source.h"
#include "data/split.h"
#include "job_file/print.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

std::vector<double> planned_weights(const std::string& written, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"train.loss.class_weights=" + written};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return small_job(overrides).spec.train.loss.class_weights.weights;
}

std::string refused_weights(const std::string& written, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"train.loss.class_weights=" + written};
  overrides.insert(overrides.end(), more.begin(), more.end());
  LoadedSpec loaded = small_spec(overrides);
  REQUIRE(loaded.ok());
  return problems_of(plan_job(loaded, find_dataset));
}

TEST_CASE("weights by name are put in the order of the classes") {
  const std::vector<std::string> names = {"data.class_names=[cat, dog, a red fish]"};
  CHECK(planned_weights("{a red fish: 5, cat: 0.5}", names) == std::vector<double>{0.5, 1, 5});
  CHECK(planned_weights("{2: 3}") == std::vector<double>{1, 1, 3});  // the classes have numbers only
  CHECK(planned_weights("[1, 2, 3]", names) == std::vector<double>{1, 2, 3});
  CHECK(planned_weights("{}", names).empty());
}

TEST_CASE("weights that fit no class are refused") {
  const std::vector<std::string> names = {"data.class_names=[cat, dog, fish]"};
  CHECK_THAT(refused_weights("{dgo: 2}", names),
             ContainsSubstring("no class of synthetic has this name; did you mean 'dog'?"));
  CHECK_THAT(refused_weights("{3: 2}"), ContainsSubstring("no class of synthetic has this name"));
  CHECK_THAT(refused_weights("[1, 2]"), ContainsSubstring("has 2 entries for 3 classes"));
}

TEST_CASE("balanced weights are scikit-learn's, and 0 for a class without examples") {
  // compute_class_weight("balanced", classes=[0, 1, 3], y)
  const at::Tensor labels = at::tensor({0, 0, 0, 0, 0, 1, 1, 3}, at::kLong);
  const std::vector<double> weights = balanced_weights(labels, 4);
  REQUIRE(weights.size() == 4);
  CHECK(weights[0] == Approx(0.53333333333333333));
  CHECK(weights[1] == Approx(1.33333333333333333));
  CHECK(weights[2] == 0);
  CHECK(weights[3] == Approx(2.66666666666666667));
}

TEST_CASE("balanced weights are those of the training part") {
  const JobPlan job = small_job({"train.loss.class_weights=balanced"});
  CHECK(job.spec.train.loss.class_weights.balanced);  // a checkpoint says so, and not what it came to
  CHECK_THAT(print_spec(job.spec), ContainsSubstring("class_weights: balanced\n"));
  const at::Tensor labels = at::tensor({0, 0, 1, 2, 2, 2, 0, 1}, at::kLong);
  const ExampleSourcePtr all = make_memory_source({at::zeros({8, 2}), labels});
  CHECK(training_of(job, job.distributed_run(), *all).loss.class_weights.weights ==
        balanced_weights(labels, 3));
  const ExampleSourcePtr some = make_selection(all, {0, 2, 3, 4});
  CHECK(training_of(job, job.distributed_run(), *some).loss.class_weights.weights ==
        std::vector<double>{4.0 / 3, 4.0 / 3, 4.0 / 6});
  const JobPlan plain = small_job();
  CHECK(training_of(plain, plain.distributed_run(), *all).loss.class_weights.weights.empty());
  CHECK(balanced_line(job.data, {1.5, 0.75, 1}) == "balanced class weights: 0 1.5, 1 0.75, 2 1");
}

TEST_CASE("the top five of few classes are nothing to go by") {
  LoadedSpec loaded = small_spec({"checkpoint.best.metric=top_5_accuracy"});
  REQUIRE(loaded.ok());
  CHECK_THAT(problems_of(plan_job(loaded, find_dataset)),
             ContainsSubstring("checkpoint.best.metric: top_5_accuracy is always 1 with 3 "
                               "classes; use accuracy"));
  const std::string phase = "{epochs: 2, schedule: reduce_on_plateau, metric: ";
  LoadedSpec phases = small_spec({"phases=[{epochs: 1}, " + phase + "top_5_accuracy}]"});
  REQUIRE(phases.ok());
  CHECK_THAT(problems_of(plan_job(phases, find_dataset)),
             ContainsSubstring("phases[1].metric: top_5_accuracy is always 1 with 3 classes; use accuracy"));
  CHECK(small_job({"phases=[" + phase + "accuracy}]"}).spec.phases.size() == 1);
  CHECK(small_job({"checkpoint.best.metric=macro_f1", "callbacks.early_stopping.metric=macro_recall"})
            .data.classes == 3);
}

}  // namespace
}  // namespace dtrain
