// Plans that work, but hardly as they are meant.
#include "plan/job_plan.h"

#include "catch.h"
#include "host/cores.h"
#include "host/machine.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a plain job has no warnings") { CHECK(plan_warnings(small_job()).empty()); }

TEST_CASE("more processes than cores") {
  const int cores = available_cores();
  const auto job_of = [](int replicas) {  // with examples for the batch of many replicas
    return small_job({"strategy.kind=mirrored", "data.train_examples=100000",
                      "strategy.replicas=" + std::to_string(replicas)});
  };
  CHECK(plan_warnings(job_of(cores)).empty());
  const JobPlan more = job_of(cores + 1);
  REQUIRE(plan_warnings(more).size() == 1);
  CHECK_THAT(plan_warnings(more)[0], ContainsSubstring(std::to_string(cores + 1) + " processes share " +
                                                       std::to_string(cores) + " core") &&
                                         ContainsSubstring("lower strategy.replicas"));
  CHECK(cores_warning(more, cores + 1) == plan_warnings(more)[0]);
  CHECK(cores_warning(more, cores).empty());
  CHECK(plan_warnings(more, 1).empty());  // a launcher has put the others elsewhere
  JobPlan on_hosts = more;
  on_hosts.spec.hosts = {"a", "b"};
  CHECK(plan_warnings(on_hosts).empty());
}

TEST_CASE("GPUs that auto leaves idle") {
  JobPlan job = small_job();
  job.idle_gpus = 2;
  CHECK(plan_warnings(job) ==
        Lines{"this host has 2 GPUs, and strategy.devices: auto uses GPUs only if each of the 1 replica here "
              "has one: the job trains on the CPU; --set strategy.replicas=auto takes one replica a GPU"});
}

TEST_CASE("fp16 on a processor that does not multiply it") {
  JobPlan job = small_job({"train.precision=fp16_mixed"});
  if (multiplies_float16()) {
    CHECK(plan_warnings(job).empty());
  } else {
    CHECK(
        plan_warnings(job) ==
        Lines{"train.precision: fp16_mixed takes many times as long as float32 on this processor, which does "
              "not multiply float16 itself; use bf16_mixed"});
  }
  job.devices = {"cuda:0"};
  CHECK(plan_warnings(job).empty());
  CHECK(plan_warnings(small_job({"train.precision=bf16_mixed"})).empty());
}

TEST_CASE("a batch larger than the training data") {
  CHECK(plan_warnings(small_job({"batch.per_replica=18"})).empty());
  CHECK(plan_warnings(small_job({"batch.per_replica=19"})) ==
        Lines{"the global batch of 19 is larger than the 18 training examples, so that an epoch is one "
              "update; lower "
              "batch.per_replica"});
  CHECK_THAT(plan_warnings(small_job({"batch.global=40"})).at(0), ContainsSubstring("lower batch.global"));
}

TEST_CASE("a learning rate scaled far without warmup") {
  const Lines scaled = {"batch.per_replica=18", "train.learning_rate_scaling.rule=linear",
                        "train.learning_rate_scaling.reference_batch=2"};
  CHECK_THAT(plan_warnings(small_job(scaled)).at(0),
             ContainsSubstring("scaled 9-fold") &&
                 ContainsSubstring("set train.learning_rate_scaling.warmup_steps"));
  Lines warm = scaled;
  warm.push_back("train.learning_rate_scaling.warmup_steps=1");
  CHECK(plan_warnings(small_job(warm)).empty());
  Lines less = scaled;
  less[0] = "batch.per_replica=16";  // 8-fold
  CHECK(plan_warnings(small_job(less)).empty());
}

TEST_CASE("a warmup that is longer than the run") {
  const auto job = [](int64_t steps) {  // an epoch of two updates
    return small_job({"batch.per_replica=9", "train.epochs=1",
                      "train.learning_rate_scaling.warmup_steps=" + std::to_string(steps)});
  };
  CHECK(plan_warnings(job(2)).empty());
  CHECK(plan_warnings(job(3)) ==
        Lines{"the learning rate rises over 3 steps and the training has 2 steps: it "
              "never comes to 0.001; lower train.learning_rate_scaling.warmup_steps"});
}

TEST_CASE("kernels at 0 with an optimizer that scales by their norms") {
  Lines job = {"train.optimizer.kind=lamb", "train.optimizer.learning_rate=0.01", "model.kind=layers",
               "model.layers=[{kind: patch_embedding, patch: 2, units: 4}, {kind: class_token}, {kind: "
               "first_token}, {kind: dense, units: 4}, {kind: dense, units: 3, initializer: zeros}]"};
  CHECK(plan_warnings(small_job(job)) ==
        Lines{"lamb moves a kernel in proportion to its norm, and hardly any that begins at 0: "
              "class_token.weight, dense_1.weight; give them another optimizer in train.optimizers "
              "(docs/large-batch.md)"});
  job.emplace_back("phases=[{epochs: 1, trainable: head}]");  // the class token is frozen
  CHECK_THAT(plan_warnings(small_job(job)).at(0), ContainsSubstring("at 0: dense_1.weight; give it"));
  job.pop_back();
  job.emplace_back(
      "train.optimizers=[{parameters: class_token.*, kind: adamw}, {parameters: dense_1.*, kind: adamw}]");
  CHECK(plan_warnings(small_job(job)).empty());
  job[0] = "train.optimizer.kind=adamw";
  job.pop_back();
  CHECK(plan_warnings(small_job(job)).empty());
}

TEST_CASE("batch_norm of one example") {
  const auto job = [](const std::string& layers, Lines more) {
    more.insert(more.end(), {"model.kind=layers", "model.layers=[" + layers + "]"});
    return small_job(more);
  };
  const std::string flat =
      "{kind: flatten}, {kind: dense, units: 8}, {kind: batch_norm}, {kind: dense, units: 3}";
  CHECK(plan_warnings(job(flat, {"batch.per_replica=1"})) ==
        Lines{"batch_norm (batch_norm) gets one example at a time, whose mean it subtracts: its output is "
              "constant in "
              "training; raise batch.per_replica"});
  CHECK(plan_warnings(job(flat, {"batch.per_replica=2"})).empty());
  // 17 of the 18 examples are in steps before the last.
  CHECK(plan_warnings(job(flat, {"batch.per_replica=17"})) ==
        Lines{"batch_norm (batch_norm) gets one example at a time at the end of each epoch, whose mean it "
              "subtracts and whose variance, 0, it averages, just before evaluations; set "
              "data.drop_remainder, or change the batch"});
  CHECK(plan_warnings(job(flat, {"batch.per_replica=17", "data.drop_remainder=true"})).empty());
  CHECK(plan_warnings(job(flat, {"batch.per_replica=17", "train.max_steps=1"})).empty());
  CHECK(plan_warnings(job(flat, {"batch.per_replica=17", "phases=[{epochs: 1, trainable: head}]"})).empty());
  // The last step has one for each of two replicas; and then, of 13 examples, 3 and 2 in passes of 2.
  const Lines two = {"strategy.kind=mirrored", "strategy.replicas=2"};
  const auto of_two = [&](Lines more) {
    more.insert(more.end(), two.begin(), two.end());
    return plan_warnings(job(flat, more), 1);
  };
  CHECK(of_two({"batch.per_replica=4"}).size() == 1);
  CHECK(of_two({"batch.per_replica=3"}).empty());
  CHECK(of_two({"data.train_examples=13", "batch.per_replica=2", "batch.accumulate_steps=2"}).size() == 1);
  CHECK(of_two({"batch.per_replica=4", "train.sync_batch_norm=true"}).empty());
  CHECK(of_two({"data.train_examples=17", "batch.per_replica=4", "train.sync_batch_norm=true"}).size() == 1);
  // The pixels of an image are many values of a channel.
  const std::string image = "{kind: batch_norm}, {kind: flatten}, {kind: dense, units: 3}";
  CHECK(plan_warnings(job(image, {"batch.per_replica=1"})).empty());
}

}  // namespace
}  // namespace dtrain
