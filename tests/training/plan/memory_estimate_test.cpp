#include "plan/memory_estimate.h"

#include "catch.h"
#include "kernels/products.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

// Bytes of the parameters: 1x4x4 images, 5 hidden units, 3 classes.
constexpr int64_t kParameters = 4 * (16 * 5 + 5 + 5 * 3 + 3);

MemoryEstimate estimate(const std::vector<std::string>& overrides) {
  const JobPlan job = small_job(overrides);
  return estimate_memory(job, job.distributed_run());
}

TEST_CASE("one device holds parameters, gradients and what the optimizer remembers of each") {
  const MemoryEstimate adam = estimate({});
  CHECK(adam.parameters == kParameters);
  CHECK(adam.gradients == kParameters);
  CHECK(adam.optimizer == 2 * kParameters);
  CHECK(adam.data == 25 * 16);  // bytes of pixels
  CHECK(estimate({"data.split.validation=0.25"}).data == adam.data);
  // Compiled: the outputs of two dense layers and their gradients, a fourth of a transposed weight where
  // products take none, the input; relu works in place. Eager: dense, relu and dense keep their outputs; two
  // gradients of 5 at once; the input.
  const int64_t transposed = has_block_products() ? 16 * 5 / 4 : 0;
  CHECK(adam.per_example == 4 * (2 * 5 + 2 * 3 + transposed + 16));
  const MemoryEstimate eager = estimate({"train.step=eager"});
  CHECK(eager.per_example == 4 * (5 + 5 + 3 + 2 * 5 + 16));
  CHECK(adam.checkpoint == 3 * kParameters);
  CHECK(adam.fixed() == adam.program + adam.data + 7 * kParameters);
  CHECK(estimate({"checkpoint.final=false"}).checkpoint == 0);
  CHECK(estimate({"checkpoint.final=false", "checkpoint.every_steps=2"}).checkpoint == 3 * kParameters);
  CHECK(estimate({"train.optimizer.kind=sgd"}).optimizer == 0);
  CHECK(estimate({"train.optimizer.kind=lion"}).optimizer == kParameters);
  const std::string rate = "train.optimizer.learning_rate=1";  // what a step changes is as large again
  CHECK(estimate({"train.optimizer.kind=lars", rate}).optimizer == 2 * kParameters);
  CHECK(estimate({"train.optimizer.kind=lamb"}).optimizer == 3 * kParameters);
  CHECK(estimate({"train.optimizer.kind=lamb"}).checkpoint == adam.checkpoint);
  // As adam, and while it makes a step five times the larger layer.
  CHECK(estimate({"train.optimizer.kind=muon", rate}).optimizer == 2 * kParameters + 5 * 4 * (16 * 5 + 5));
  CHECK(estimate({"train.optimizer.kind=sgd", "train.optimizer.momentum=0.9", "train.ema.decay=0.9"})
            .optimizer == 2 * kParameters);
  CHECK(estimate({"train.precision=bf16_mixed"}).per_example < eager.per_example);
  CHECK(estimate({"model.dtype=float64"}).per_example == 2 * eager.per_example);
}

TEST_CASE("evaluations need what a forward pass has at once, instead of a step's memory or beside it") {
  const MemoryEstimate compiled = estimate({});
  // The outputs of relu and the second dense layer, a transposed weight where products take one, the input.
  const int64_t transposed = has_block_products() ? 16 * 5 : 0;
  CHECK(compiled.evaluated == 7);
  CHECK(compiled.per_evaluated == 4 * ((7 * (5 + 3) + transposed + 6) / 7 + 16));
  CHECK(compiled.with_batch(10) == compiled.fixed() + 10 * compiled.per_example + 7 * compiled.per_evaluated);
  // Those of dense and relu, which does not work in place.
  const MemoryEstimate eager = estimate({"train.step=eager"});
  CHECK(eager.per_evaluated == 4 * (5 + 5 + 16));
  CHECK(eager.with_batch(1) == eager.fixed() + 7 * eager.per_evaluated);
  CHECK(eager.with_batch(100) == eager.fixed() + 100 * eager.per_example);
  CHECK(estimate({"train.precision=bf16_mixed"}).per_evaluated == eager.per_evaluated);
  CHECK(estimate({"train.step=eager", "evaluate.flip=true"}).per_evaluated == 4 * (5 + 5 + 2 * 16));
  CHECK(estimate({"evaluate.batch_per_replica=2"}).evaluated == 2);
  CHECK(estimate({"strategy.kind=mirrored", "strategy.replicas=2"}).evaluated == 4);
  CHECK(estimate({"data.split.validation=0.25"}).evaluated == 7);  // the test part, at the end
  const std::string block =
      "model.layers=[{kind: flatten}, {kind: dense, units: 8, name: a}, {kind: dense, units: 8}, "
      "{kind: dense, units: 8}, {kind: add, with: a}, {kind: dense, units: 3}]";
  CHECK(estimate({"train.step=eager", "model.kind=layers", block}).per_evaluated == 4 * (8 + 8 + 8 + 16));
}

TEST_CASE("attention keeps queries, keys, values, what it mixes, and with dropout the shares of the tokens") {
  const auto of_attention = [](const std::string& fields) {
    return estimate({"model.kind=layers",
                     "model.layers=[{kind: patch_embedding, patch: 2, units: 4}, {kind: "
                     "attention, heads: 2" +
                         fields + "}, {kind: flatten}, {kind: dense, units: 3}]"})
        .per_example;
  };
  // Gradients of as much exist at once.
  const int64_t outputs = 16 + 16 + 3, input = 16, kept = 4 * 16, shares = 4 * 2 * 4 * 4;
  CHECK(of_attention("") == 4 * (outputs + 2 * kept + input));
  CHECK(of_attention(", dropout: 0.1") == 4 * (outputs + 2 * (kept + shares) + input));
}

TEST_CASE("of several phases the one that needs the most counts, and is measured") {
  const std::string head = "{steps: 1, trainable: head}", all = "{steps: 1}";
  const auto job = [](const std::string& phases, const std::string& step) {
    return small_job({"phases=[" + phases + "]", "train.step=" + step});
  };
  const auto of = [&](const std::string& phases) {
    const JobPlan planned = job(phases, "auto");
    return estimate_memory(planned, planned.distributed_run());
  };
  const MemoryEstimate whole = estimate({});
  CHECK(of(head).per_example < whole.per_example);  // begins at the features
  CHECK(of(head).per_evaluated < whole.per_evaluated);
  for (const std::string& phases : {head + ", " + all, all + ", " + head}) {
    CHECK(of(phases).per_example == whole.per_example);
    CHECK(of(phases).per_evaluated == whole.per_evaluated);
  }
  const auto largest = [&](const std::string& phases, const std::string& step) {
    const JobPlan planned = job(phases, step);
    return largest_phase(planned, planned.distributed_run());
  };
  for (const char* step : {"auto", "eager"}) {
    CHECK(largest(head + ", " + all, step) == 1);
    CHECK(largest(all + ", " + head, step) == 0);
  }
  CHECK(largest_phase(small_job(), small_job().distributed_run()) == 0);
}

TEST_CASE("replicas that share memory divide the optimizer's state, with central storage the parameters") {
  const MemoryEstimate mirrored = estimate({"strategy.kind=mirrored", "strategy.replicas=2"});
  CHECK(mirrored.optimizer == kParameters);
  CHECK(mirrored.parameters == kParameters);
  CHECK(mirrored.checkpoint == 3 * kParameters / 2);  // one of the two keeps the copy
  const MemoryEstimate central = estimate({"strategy.kind=central_storage", "strategy.replicas=2"});
  CHECK(central.parameters == kParameters / 2);
  CHECK(central.gradients < mirrored.gradients);
  const MemoryEstimate gloo =
      estimate({"strategy.kind=mirrored", "strategy.replicas=2", "strategy.communication=gloo"});
  CHECK(gloo.optimizer == 2 * kParameters);
}

TEST_CASE("hosts that divide the optimizer have a part of it, and one copy of the parameters each") {
  const std::vector<std::string> four = {"strategy.kind=multi_worker_mirrored", "strategy.replicas=4",
                                         "hosts=[a, b]"};
  std::vector<std::string> divided = four;
  divided.push_back("strategy.shard_optimizer=true");
  CHECK(estimate(four).optimizer == 2 * kParameters);
  CHECK(estimate(divided).optimizer == 2 * kParameters / 4);
  CHECK(estimate(four).parameters == kParameters);
  CHECK(estimate(divided).parameters == kParameters / 2);
  CHECK(estimate(divided).gradients == estimate(four).gradients);
  CHECK(estimate(divided).checkpoint == estimate(four).checkpoint);
}

TEST_CASE("the largest batch is what fits beside the rest") {
  MemoryEstimate memory;
  memory.per_example = 10;
  memory.evaluated = 100;
  memory.per_evaluated = 3;
  CHECK(largest_batch(memory, 1000, 500) == 50);
  CHECK(largest_batch(memory, 509, 500) == 0);
  CHECK(largest_batch(memory, 500, 501) == 0);
  memory.keeps_both = true;
  CHECK(largest_batch(memory, 1000, 500) == 20);
  CHECK(largest_batch(memory, 809, 500) == 0);
}

TEST_CASE("the advice is a batch that fits, for the same update") {
  const JobPlan job = small_job({"batch.per_replica=1000000", "data.shape=[1, 64, 64]"});
  const RunPlan& run = job.distributed_run();
  const int64_t memory = memory_for_all();
  const int64_t each = estimate_memory(job, run).per_example;
  const MemoryInUse used{0, memory - 1000 * each - (int64_t{64} << 20)};
  const std::string advice = memory_advice(job, run, used, 1);
  CHECK_THAT(advice, ContainsSubstring("for a batch of 1000000"));
  CHECK_THAT(advice, ContainsSubstring("--set batch.per_replica="));
  CHECK_THAT(advice, ContainsSubstring("bf16_mixed"));
  const auto number_after = [&](const std::string& text) {
    return std::stoll(advice.substr(advice.find(text) + text.size()));
  };
  const int64_t batch = number_after("batch.per_replica="), steps = number_after("accumulate_steps=");
  CHECK(batch * steps == 1000000);
  CHECK(batch * each < memory - used.resident);
  CHECK_THAT(memory_advice(job, run, {0, memory}, 1), ContainsSubstring("not even a batch of 1 fits"));
  CHECK_THAT(memory_advice(small_job(), small_job().distributed_run(), {0, 0}, 1),
             ContainsSubstring("others use"));
}

TEST_CASE("the advice where a step fits and an evaluation does not is a smaller evaluation") {
  const JobPlan job = small_job({"train.step=eager", "data.shape=[1, 64, 64]", "data.test_examples=100000",
                                 "evaluate.batch_per_replica=100000"});
  const MemoryInUse used{0, memory_for_all() - (int64_t{64} << 20)};
  const std::string advice = memory_advice(job, job.distributed_run(), used, 1);
  CHECK_THAT(advice, ContainsSubstring("for a batch of 4, and 1.5 GiB for an evaluation of 100") &&
                         ContainsSubstring("; use a smaller evaluate.batch_per_replica") &&
                         !ContainsSubstring("others use"));
}

TEST_CASE("the advice where an evaluation alone has no room is a batch that has") {
  const JobPlan job =
      small_job({"batch.per_replica=1000000", "data.shape=[1, 64, 64]", "data.test_examples=1000"});
  const RunPlan& run = job.distributed_run();
  const MemoryEstimate memory = estimate_memory(job, run);
  REQUIRE(memory.keeps_both);
  REQUIRE(memory.evaluation() > 10 * memory.per_example);
  const int64_t own = memory.parameters + memory.gradients + memory.optimizer + memory.checkpoint;
  const MemoryInUse used{0, memory_for_all() - own - memory.evaluation() / 2};
  CHECK_THAT(memory_advice(job, run, used, 1), ContainsSubstring("--set batch.per_replica="));
}

TEST_CASE("the advice for a user's module gives no numbers of its batch, which are not known") {
  JobPlan job = small_job();
  job.spec.model.kind = "torchscript";
  const std::string advice = memory_advice(job, job.distributed_run(), {0, 0}, 1);
  CHECK_THAT(advice, ContainsSubstring("and more for what its program keeps of a batch; use a smaller "
                                       "batch.per_replica with as many batch.accumulate_steps more"));
  CHECK_THAT(advice, !ContainsSubstring("others use") && !ContainsSubstring("for each example"));
}

}  // namespace
}  // namespace dtrain
