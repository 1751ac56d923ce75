#include "runs/sweep_results.h"

#include "catch.h"
#include "sample_sweep.h"

namespace dtrain {
namespace {

TEST_CASE("a point's numbers are medians of its runs, with the slowest and the fastest") {
  const auto numbers = sweep_numbers(sample_sweep());
  REQUIRE(numbers.size() == 3);
  REQUIRE(numbers[1]);
  CHECK(numbers[1]->examples_per_second == 96000);
  CHECK(numbers[1]->lowest == 90000);
  CHECK(numbers[1]->highest == 100000);
  CHECK(numbers[1]->step_ms == 1.25);
  CHECK(numbers[1]->phases_ms[StepTime::kCompute] == 0.625);
  CHECK(numbers[1]->phases_ms[StepTime::kCommunicate] == 0.25);
}

TEST_CASE("speedup and efficiency are against the fewest replicas with the same batch") {
  const auto numbers = sweep_numbers(sample_sweep());
  CHECK(numbers[0]->speedup == 1);
  CHECK(numbers[0]->scaling_efficiency == 1);
  CHECK(numbers[1]->reference_replicas == 1);
  CHECK(numbers[1]->speedup == 1.5);
  CHECK(numbers[1]->scaling_efficiency == 0.75);
  CHECK_FALSE(numbers[2]);
}

TEST_CASE("weak scaling compares equal batches of a replica, strong scaling equal global batches") {
  Sweep sweep;
  sweep.points = {sweep_point(2, 32, {sweep_run(1000, 1)}), sweep_point(2, 64, {sweep_run(2000, 1)}),
                  sweep_point(4, 32, {sweep_run(3000, 1)})};
  const auto weak = sweep_numbers(sweep);
  CHECK(weak[2]->reference_replicas == 2);
  CHECK(weak[2]->speedup == 3);
  CHECK(weak[2]->scaling_efficiency == 1.5);
  sweep.strong = true;  // 2 x 64 and 4 x 32
  const auto strong = sweep_numbers(sweep);
  CHECK(strong[0]->speedup == 1);
  CHECK(strong[2]->speedup == 1.5);
  CHECK(strong[2]->scaling_efficiency == 0.75);
}

TEST_CASE("when the smallest point failed, the next one is the reference") {
  Sweep sweep = sample_sweep();
  sweep.points[0].error = "gone";
  sweep.points[2] = sweep_point(4, 64, {sweep_run(144000, 2)});
  const auto numbers = sweep_numbers(sweep);
  CHECK_FALSE(numbers[0]);  // also what it measured before it failed
  CHECK(numbers[1]->speedup == 1);
  CHECK(numbers[2]->reference_replicas == 2);
  CHECK(numbers[2]->speedup == 1.5);
  CHECK(numbers[2]->scaling_efficiency == 0.75);
}

TEST_CASE("the document says of each point how far it came") {
  Sweep sweep = sample_sweep();
  sweep.points.push_back(sweep_point(8, 64, {sweep_run(99000, 4)}));
  sweep.points.push_back(sweep_point(16, 64, {}));
  const Event document = sweep_document(sweep);
  CHECK(document["mode"] == "weak");
  CHECK(document["directory"] == "runs/mnist_mirrored-sweep");
  CHECK(document["parameters"] == 235146);
  CHECK_FALSE(document.contains("dataset_requested"));
  const Event& points = document["points"];
  REQUIRE(points.size() == 5);
  CHECK(points[0]["status"] == "completed");
  CHECK(points[0]["runs"].size() == 3);
  CHECK(points[0]["runs"][1]["examples_per_second"] == 60000);
  CHECK(points[1]["scaling_efficiency"] == 0.75);
  CHECK(points[1]["phases_ms"]["compute"] == 0.625);
  CHECK(points[1]["phases_ms"].size() == kStepTimes);
  CHECK(points[2]["status"] == "failed");
  CHECK(points[2]["exit_code"] == 4);
  CHECK_FALSE(points[2].contains("examples_per_second"));
  CHECK(points[3]["status"] == "incomplete");
  CHECK(points[3]["examples_per_second"] == 99000);
  CHECK(points[4]["status"] == "not_measured");
}

}  // namespace
}  // namespace dtrain
