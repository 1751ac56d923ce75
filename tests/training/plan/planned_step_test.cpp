// How the steps of a job are computed.
#include "plan/planned_step.h"

#include "catch.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

std::string step_of(const std::vector<std::string>& settings) {
  const JobPlan job = small_job(settings);
  return planned_step(job, job.distributed_run()).text();
}

TEST_CASE("steps are compiled where they can be, and else it is told why not") {
  CHECK(step_of({}) == "compiled");
  CHECK(step_of({"train.step=compiled"}) == "compiled");
  CHECK(step_of({"train.step=eager"}) == "eager: train.step: eager");
  CHECK(step_of({"strategy.kind=mirrored", "strategy.replicas=2"}) == "compiled");
  CHECK(step_of({"strategy.kind=mirrored", "strategy.replicas=2", "strategy.communication=gloo"}) ==
        "compiled");
  CHECK(step_of({"model.dtype=float64"}) == "eager: model.dtype: float64");
  CHECK(step_of({"model.kind=cnn", "data.shape=[1, 8, 8]"}) == "compiled");
  const std::string size = "data.shape=[3, 32, 32]";
  CHECK(step_of({"model.kind=cifar_resnet", size}) == "compiled");
  CHECK(step_of({"model.kind=resnet", size}) == "compiled");
  CHECK(step_of({"model.kind=resnet", size, "train.channels_last=true"}) == "compiled");
  CHECK(step_of({"model.kind=vit", size}) ==
        "eager: layer patch_embedding (patch_embedding) has no compiled form");
}

TEST_CASE("on GPUs steps are recorded") {
  CHECK(step_of({"strategy.devices=cuda"}) == "recorded");
  CHECK(step_of({"strategy.devices=cuda", "cuda.graphs=false"}) == "eager: cuda.graphs: false");
  CHECK(step_of({"strategy.devices=cuda", "train.precision=fp16_mixed"}) ==
        "eager: train.precision: fp16_mixed");
  const std::string gloo = "strategy.communication=gloo";
  CHECK(step_of({"strategy.devices=cuda", gloo}) == "recorded");  // a replica alone sends nothing
  CHECK(step_of({"strategy.devices=cuda", gloo, "strategy.kind=mirrored", "strategy.replicas=2"}) ==
        "eager: gloo cannot be recorded");
}

TEST_CASE("a plugin compiles the steps of TPUs, several in a call") {
  JobPlan job = small_job();
  job.runs.back().strategy = "tpu";
  job.runs.back().one_process = true;
  const auto text = [&] { return planned_step(job, job.distributed_run()).text(); };
  CHECK(text() == "stablehlo: no plugin was found");
  job.plugin = "/opt/libtpu.so";
  CHECK(text() == "stablehlo: compiled by libtpu.so, up to 2 steps in a call");  // as many as a window has
  job.spec.callbacks.terminate_on_nan = true;
  CHECK(text() == "stablehlo: compiled by libtpu.so, a step in a call");
  job.spec.train.step = "xla";
  CHECK(text() ==
        "stablehlo: compiled by libtpu.so, a step in a call; other machines may compute other bits");
}

}  // namespace
}  // namespace dtrain
