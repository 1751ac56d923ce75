// What the data has to say to a plan.
#include "catch.h"
#include "core/error.h"
#include "core/text.h"
#include "files.h"
#include "plan/job_plan.h"
#include "planned_jobs.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

TEST_CASE("steps follow from what a validation part leaves, and a part that leaves nothing is said") {
  const std::string text =
      "batch: {per_replica: 4}\ndata:\n  dataset: synthetic\n  train_examples: 18\n  split:\n"
      "    validation: ";
  LoadedSpec loaded = spec_of(text + "0.25\n");
  const PlannedJob planned = plan_job(loaded, find_dataset);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& job = planned.job;
  CHECK(job.data.train_examples == 14);
  CHECK(job.data.validation_examples == 4);
  CHECK(job.distributed_run().steps_per_epoch == 4);
  CHECK(job.distributed_run().evaluates);
  loaded = spec_of(text + "0.99999999\n");
  CHECK(problems_of(plan_job(loaded, find_dataset)) ==
        "spec:6:5: data.split.validation: takes 18 of the 18 training examples and leaves none to train on; "
        "use a smaller part or more data.train_examples\n");
  // A batch that the whole would fill.
  loaded = spec_of(
      "batch: {per_replica: 15}\ndata: {dataset: synthetic, train_examples: 18, split: {validation: 0.25}, "
      "drop_remainder: true}\n");
  CHECK_THAT(problems_of(plan_job(loaded, find_dataset)),
             ContainsSubstring("a global batch of 15 never fills from 14 examples"));
}

TEST_CASE("what the data holds against the spec is a problem of the spec") {
  const auto too_many = [](const DataSpec&) -> DatasetInfo {
    throw FieldError("data.train_examples", "70000 is more than there are");
  };
  LoadedSpec loaded = spec_of("batch: {per_replica: 8}\ndata:\n  train_examples: 70000\n");
  CHECK(problems_of(plan_job(loaded, too_many)) ==
        "spec:3:3: data.train_examples: 70000 is more than there are\n");

  const auto unplaced = [](const DataSpec&) -> DatasetInfo {
    throw Error(ExitCode::kUsage, "pixels: too many");
  };
  loaded = spec_of("batch: {per_replica: 8}\ndata: {shuffle: false}\n");
  CHECK(problems_of(plan_job(loaded, unplaced)) == "spec:2:1: data: pixels: too many\n");

  const auto damaged = [](const DataSpec&) -> DatasetInfo { throw Error(ExitCode::kData, "damaged"); };
  loaded = spec_of("batch: {per_replica: 8}\n");
  CHECK_THROWS_AS(plan_job(loaded, damaged), Error);
}

TEST_CASE("a loss of probabilities takes no numbers beyond them") {
  const TemporaryFolder folder;
  const auto planned = [&](const std::string& last) {
    std::string rows = "x,y,z\n";
    for (int row = 1; row < 20; ++row) rows += std::to_string(row) + ",0,1\n";
    LoadedSpec loaded =
        spec_of("batch: {per_replica: 4}\ndata: {dataset: csv, path: " +
                folder.write("rows.csv", rows + "3,0.5," + last + "\n").string() +
                ", target: [y, z], split: {test: 0.2}}\nmodel: {kind: layers, layers: [{kind: dense, units: "
                "2}]}\ntrain: {loss: binary_cross_entropy}\n");
    return problems_of(plan_job(loaded, find_dataset));
  };
  CHECK(planned("1").empty());
  CHECK_THAT(planned("2"),
             ContainsSubstring("binary_cross_entropy takes numbers from 0 to 1, and not those of "
                               "csv, such as 2 in rows.csv, row 20, column 'z'; recode them, or use mean_"));
  CHECK_THAT(planned("-0.25"), ContainsSubstring("such as -0.25 in rows.csv, row 20, column 'z'"));
}

TEST_CASE("classes can be balanced, and pixels measured, where there are some") {
  DatasetInfo data = mnist();
  CHECK(problems_in("batch: {per_replica: 8}\ndata: {sampling: balanced}\n", std::nullopt, data).empty());
  data.classes = 0;
  data.targets = 3;
  CHECK_THAT(problems_in("batch: {per_replica: 8}\ndata: {sampling: balanced}\ntrain: {loss: huber}\n",
                         std::nullopt, data),
             ContainsSubstring("spec:2:8: data.sampling: balanced draws every class as often as another, and "
                               "the targets of mnist are numbers; leave it out"));
}

TEST_CASE("to correct rare classes twice is doubtful") {
  const auto warnings = [](const std::string& sampling) {
    LoadedSpec loaded = spec_of("batch: {per_replica: 8}\ndata: {dataset: synthetic, sampling: " + sampling +
                                "}\ntrain: {loss: {kind: cross_entropy, class_weights: balanced}}\n");
    return join(plan_warnings(plan_job(loaded, find_dataset).job));
  };
  CHECK_THAT(warnings("balanced"), ContainsSubstring("correct the same thing"));
  CHECK_THAT(warnings("natural"), !ContainsSubstring("correct the same thing"));
}

TEST_CASE("operations that cannot be done to the examples are problems of the spec") {
  const auto problems = [](const std::string& operation, const DatasetInfo& data = mnist()) {
    return problems_in("batch: {per_replica: 8}\ndata: {augment: [" + operation + "]}\n", std::nullopt, data);
  };
  CHECK(problems("flip, {kind: color_jitter, hue: 0.1}, mixup").empty());
  CHECK(problems("{kind: random_crop, padding: 27, padding_mode: reflect}").empty());
  CHECK_THAT(problems("flip, {kind: random_crop, padding: 28, padding_mode: reflect}"),
             ContainsSubstring("data.augment[1].padding: 28 is more than a picture with a side of 28 pixels "
                               "has to reflect; at most 27"));
  DatasetInfo many = mnist();
  many.example_shape = {4, 8, 8};
  CHECK_THAT(problems("{kind: color_jitter, hue: 0.1}", many), ContainsSubstring("have 4 channels"));
  CHECK_THAT(problems("trivial_augment", many), ContainsSubstring("trivial_augment changes colours or grey"));
  DatasetInfo numbers = mnist();
  numbers.has_pixels = false;
  CHECK_THAT(problems("flip", numbers),
             ContainsSubstring("data.augment: changes pictures, and the examples"));
  DatasetInfo predicted = mnist();
  predicted.targets = 1;
  CHECK_THAT(problems("flip, cutmix", predicted),
             ContainsSubstring("data.augment[1].kind: cutmix mixes the classes of two pictures"));
}

TEST_CASE("only pictures have mirror images and a middle to evaluate") {
  const std::string flip = "batch: {per_replica: 8}\nevaluate: {flip: true, zoom: 0.7}\n";
  CHECK(problems_in(flip, std::nullopt, mnist()).empty());
  DatasetInfo numbers = mnist();
  numbers.has_pixels = false;
  CHECK_THAT(problems_in(flip, std::nullopt, numbers),
             ContainsSubstring("evaluate.flip: flips pictures, and the examples of mnist are numbers") &&
                 ContainsSubstring("evaluate.zoom: scales pictures, and"));
}

TEST_CASE("data is not looked for when the spec has problems of its own") {
  LoadedSpec loaded = parse_spec("batch: {per_replica: 0}\n", "spec");
  REQUIRE(loaded.problems.size() == 1);
  const auto look = [](const DataSpec&) -> DatasetInfo { throw Error(ExitCode::kData, "looked for"); };
  CHECK(plan_job(loaded, look).problems.size() == 1);
}

}  // namespace
}  // namespace dtrain
