// How the steps of a job are computed.
#include "plan/planned_step.h"

#include "catch.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

std::string step_of(const std::vector<std::string>& settings) {
  return planned_step(small_job(settings)).text();
}

TEST_CASE("steps are compiled where they can be, and else it is told why not") {
  CHECK(step_of({}) == "compiled");
  CHECK(step_of({"train.step=compiled"}) == "compiled");
  CHECK(step_of({"train.step=eager"}) == "eager: train.step: eager");
  CHECK(step_of({"model.dtype=float64"}) == "eager: model.dtype: float64");
  CHECK(step_of({"model.kind=cnn"}) == "eager: layer conv2d (conv2d) has no compiled form");
  CHECK(step_of({"train.step=compiled", "model.kind=cnn"}) ==
        "eager: layer conv2d (conv2d) has no compiled form");
}

TEST_CASE("on GPUs steps are recorded") {
  CHECK(step_of({"strategy.devices=cuda"}) == "recorded");
  CHECK(step_of({"strategy.devices=cuda", "cuda.graphs=false"}) == "eager: cuda.graphs: false");
  CHECK(step_of({"strategy.devices=cuda", "train.precision=fp16_mixed"}) ==
        "eager: train.precision: fp16_mixed");
}

}  // namespace
}  // namespace dtrain
