#include "plan/job_plan.h"

#include "catch.h"
#include "host/cores.h"
#include "planned_jobs.h"
#include "shipped_tables.h"
#include "train/replica.h"

namespace dtrain {
namespace {

std::vector<std::string> names_of_runs(const JobPlan& job) {
  std::vector<std::string> names;
  for (const RunPlan& run : job.runs) names.push_back(run.name() + " " + run.strategy);
  return names;
}

TEST_CASE("several hosts share the replicas evenly") {
  const std::string spec =
      "hosts: [a, b]\nstrategy: {kind: multi_worker_mirrored}\nbatch: {per_replica: 8}\n";
  const JobPlan automatic = plan_of(spec, Launched{.cores = 50});
  CHECK(automatic.distributed_run().replicas == 2 * 8);
  CHECK(automatic.distributed_run().threads_per_replica == 6);
  const std::string four = "strategy: {kind: multi_worker_mirrored, replicas: 4}\nbatch: {per_replica: 8}\n";
  LoadedSpec loaded = spec_of(four);
  const JobPlan shared = plan_job(loaded, mnist(), {.hosts = 2, .cores = 5}).job;
  CHECK(shared.distributed_run().replicas == 4);
  CHECK(shared.distributed_run().threads_per_replica == 2);
  loaded = spec_of(four);
  CHECK_THAT(problems_of(plan_job(loaded, mnist(), {.hosts = 3})),
             ContainsSubstring("strategy.replicas: is 4, which 3 hosts cannot share evenly"));
  loaded = spec_of("batch: {per_replica: 8}\n");
  CHECK_THAT(
      problems_of(plan_job(loaded, mnist(), {.hosts = 2, .by = "TF_CONFIG"})),
      ContainsSubstring("one_device trains on one host, but TF_CONFIG lists 2; use multi_worker_mirrored"));
  loaded = spec_of("strategy: {kind: mirrored, communication: shared_memory}\nbatch: {per_replica: 8}\n");
  CHECK_THAT(
      problems_of(plan_job(loaded, mnist(), {.replicas = 4, .here = 2, .by = "Slurm"})),
      ContainsSubstring("mirrored trains on one host, but Slurm started 4 processes, 2 of them here") &&
          ContainsSubstring("strategy.communication: shared_memory joins"));
}

TEST_CASE("a job that is planned again, as after its pictures were read, still tells why it fell back") {
  const LoadedSpec loaded = spec_of(
      "strategy: {kind: tpu, replicas: 2, fallback: true, plugin: /no/plugin.so}\nbatch: {per_replica: 8}\n");
  const PlannedJob first = plan_job(loaded, mnist());
  CHECK(problems_of(first).empty());
  CHECK(first.job.distributed_run().strategy == "mirrored");
  REQUIRE_FALSE(first.job.fallback.empty());
  CHECK(plan_job(loaded, mnist()).job.fallback == first.job.fallback);
}

TEST_CASE("what devices cannot do is a problem of the spec") {
  const std::string mirrored = "batch: {per_replica: 8}\nstrategy: {kind: mirrored, replicas: 1, devices: ";
  CHECK(problems_in(mirrored + "cuda}\ntrain: {step: compiled}\n") ==
        "spec:3:9: train.step: compiled steps run on processors, not on cuda:0; leave it out: cuda.graphs "
        "records a GPU's\n");
  CHECK(problems_in(mirrored + "cpu, communication: nccl}\n") ==
        "spec:2:55: strategy.communication: nccl joins replicas that have a GPU each, and these are on cpu; "
        "use auto\n");
}

TEST_CASE("the published example has the published numbers") {
  LoadedSpec loaded = load_spec(std::string(DTRAIN_SOURCE_DIR) + "/configs/mnist_mirrored.yaml");
  const PlannedJob planned = plan_job(loaded, mnist());
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& job = planned.job;
  CHECK(names_of_runs(job) ==
        std::vector<std::string>{"baseline one_device", "overhead mirrored", "distributed mirrored"});
  CHECK(job.model.parameters() == 235146);  // 784x256+256 + 256x128+128 + 128x10+10
  CHECK(job.bytes_per_all_reduce(job.distributed_run().phases.front()) == 4 * 235146);

  const RunPlan& baseline = job.runs[0];
  CHECK(baseline.replicas == 1);
  CHECK(baseline.batch.global == 64);
  CHECK(baseline.steps_per_epoch == 938);  // 60000 / 64 = 937.5
  CHECK(baseline.epochs == 5);
  CHECK(baseline.total_steps == 5 * 938);
  CHECK(baseline.phases.front().learning_rate.scaled == Approx(1e-3));
  CHECK(baseline.evaluates);

  const RunPlan& overhead = job.runs[1];
  CHECK(overhead.replicas == 1);
  CHECK(overhead.total_steps == kOverheadSteps);
  CHECK_FALSE(overhead.evaluates);

  const RunPlan& distributed = job.runs[2];
  CHECK(distributed.replicas == 2);
  CHECK(distributed.batch.per_replica == 64);
  CHECK(distributed.batch.global == 128);
  CHECK(distributed.steps_per_epoch == 469);
  CHECK(distributed.total_steps == 5 * 469);
  CHECK(distributed.phases.front().learning_rate.scaled == Approx(2e-3));
  CHECK(distributed.phases.front().learning_rate.derivation ==
        "0.001 x 128/64 (linear) = 0.002; falls to 0 as a cosine over all 2,345 steps");
}

TEST_CASE("the number of replicas comes from the strategy, the devices, the launcher or the cores") {
  struct Case {
    std::string strategy;
    std::optional<int64_t> world_size;
    int64_t replicas;
  };
  constexpr int64_t automatic = 6;  // as many as cores
  const std::vector<Case> cases = {
      {"{kind: one_device}", std::nullopt, 1},
      {"{kind: one_device, replicas: 1}", std::nullopt, 1},
      {"{kind: one_device}", 1, 1},
      {"{kind: mirrored}", std::nullopt, automatic},
      {"{kind: mirrored, replicas: auto}", std::nullopt, automatic},
      {"{kind: mirrored, devices: cpu}", std::nullopt, automatic},
      {"{kind: mirrored, replicas: 1}", std::nullopt, 1},
      {"{kind: mirrored, replicas: 3}", std::nullopt, 3},
      {"{kind: mirrored, replicas: 1024}", std::nullopt, 1024},
      {"{kind: mirrored, devices: [cpu]}", std::nullopt, 1},
      {"{kind: mirrored, devices: [cpu, cpu, cpu]}", std::nullopt, 3},
      {"{kind: mirrored, replicas: 2, devices: [cpu, cpu]}", std::nullopt, 2},
      {"{kind: mirrored}", 5, 5},
      {"{kind: mirrored, replicas: 3}", 3, 3},
      {"{kind: mirrored, devices: [cpu, cpu]}", 2, 2},
  };
  for (const Case& each : cases) {
    INFO(each.strategy << ", launched " << each.world_size.value_or(0));
    const JobPlan job = plan_of("strategy: " + each.strategy + "\nbatch: {per_replica: 8}\n",
                                Launched{.replicas = each.world_size, .cores = 6});
    CHECK(job.distributed_run().replicas == each.replicas);
    CHECK(job.distributed_run().batch.parts == each.replicas);
    CHECK(job.distributed_run().batch.global == 8 * each.replicas);
    CHECK(job.spec.strategy.replicas == each.replicas);  // every replica process resolves the same job
  }
}

TEST_CASE("auto has as many replicas as cores up to eight on each host, and no more than virtual ones") {
  const auto replicas = [](const std::string& strategy, int64_t hosts, int64_t cores) {
    const LoadedSpec spec = spec_of("strategy: " + strategy + "\nbatch: {per_replica: 8}\n");
    return plan_job(spec, mnist(), {.hosts = hosts, .cores = cores}).job.distributed_run().replicas;
  };
  CHECK(replicas("{kind: mirrored}", 1, 1) == 1);
  CHECK(replicas("{kind: multi_worker_mirrored}", 3, 7) == 3 * 7);
  CHECK(replicas("{kind: multi_worker_mirrored}", 3, 64) == 3 * 8);
  CHECK(replicas("{kind: multi_worker_mirrored, virtual_replicas: 1024}", 3, 64) == 3 * 8);
  CHECK(replicas("{kind: multi_worker_mirrored, virtual_replicas: 5}", 3, 64) == 3);
  CHECK(replicas("{kind: mirrored, virtual_replicas: 1}", 1, 64) == 1);
  const LoadedSpec launched =
      spec_of("strategy: {kind: mirrored, virtual_replicas: 4}\nbatch: {per_replica: 8}\n");
  CHECK_THAT(problems_of(plan_job(launched, mnist(), {.replicas = 5})),
             ContainsSubstring("strategy.virtual_replicas: 4 has work for at most 4 replicas, not 5"));
}

TEST_CASE("xla has one process, on one host") {
  const std::string text =
      "batch: {per_replica: 8}\nstrategy: {kind: mirrored, replicas: 2}\ntrain: {step: xla}\n";
  const auto problems = [&](const Launched& launched) {
    return problems_of(plan_job(spec_of(text), mnist(), launched));
  };
  CHECK_THAT(problems({.replicas = 2, .by = "mpirun"}),
             ContainsSubstring(
                 "train.step: xla drives all devices of a host from one process, but mpirun started 2"));
  CHECK_THAT(problems({.hosts = 2, .by = "TF_CONFIG"}),
             ContainsSubstring(
                 "train.step: xla drives the GPUs of one host, but TF_CONFIG lists 2; leave it out, and use "
                 "strategy.kind multi_worker_mirrored"));
  const PlannedJob planned = plan_job(spec_of(text), mnist());
  CHECK(problems_of(planned).empty());
  CHECK(planned.job.distributed_run().processes() == 1);
  CHECK(planned.job.devices == std::vector<std::string>{"cuda:0", "cuda:1"});
}

TEST_CASE("a launcher's number of processes must fit the spec") {
  const std::string batch = "batch: {per_replica: 8}\n";
  CHECK(problems_in(batch + "strategy:\n  kind: mirrored\n  replicas: 2\n", 3) ==
        "spec:4:3: strategy.replicas: the spec asks for 2 replicas, but the launcher started 3; "
        "start as many, or set replicas: auto\n");
  CHECK(problems_in(batch + "strategy:\n  kind: mirrored\n  replicas: 1\n", 2) ==
        "spec:4:3: strategy.replicas: the spec asks for 1 replica, but the launcher started 2; "
        "start as many, or set replicas: auto\n");
  CHECK(problems_in(batch + "strategy:\n  kind: mirrored\n  devices: [cpu, cpu]\n", 3) ==
        "spec:4:3: strategy.devices: the spec asks for 2 replicas, but the launcher started 3; "
        "start as many, or set devices: auto\n");
  // one_device is not written here: replicas: auto would not help.
  CHECK(problems_in(batch, 2) ==
        "spec:1:1: strategy.kind: one_device trains in one process, but the launcher started 2; "
        "use mirrored, or no launcher\n");
}

TEST_CASE("replicas share the cores unless the spec says otherwise") {
  const auto threads = [](const std::string& strategy) {
    const JobPlan job =
        plan_of("strategy: " + strategy + "\nbatch: {per_replica: 8}\n", Launched{.cores = 7});
    CHECK(job.spec.strategy.threads_per_replica == job.distributed_run().threads_per_replica);
    return job.distributed_run().threads_per_replica;
  };
  CHECK(plan_of("batch: {per_replica: 8}\n").distributed_run().threads_per_replica == available_cores());
  CHECK(threads("{kind: one_device}") == 7);
  CHECK(threads("{kind: mirrored, replicas: 1}") == 7);
  CHECK(threads("{kind: mirrored, replicas: 2}") == 3);
  CHECK(threads("{kind: mirrored, replicas: 1024}") == 1);  // never none
  CHECK(threads("{kind: mirrored, replicas: 2, threads_per_replica: 5}") == 5);
}

TEST_CASE("every run has the threads of the distributed one") {
  const JobPlan job = plan_of(
      "strategy: {kind: mirrored, replicas: 4, threads_per_replica: 3}\nbatch: {per_replica: 8}\n"
      "compare: {baseline: one_device}\n");
  for (const RunPlan& run : job.runs) CHECK(run.threads_per_replica == 3);
}

TEST_CASE("runs that would say nothing are left out") {
  const std::string batch = "batch: {per_replica: 8}\n";
  CHECK(names_of_runs(plan_of(batch)) == std::vector<std::string>{"distributed one_device"});
  CHECK(names_of_runs(plan_of(batch + "strategy: {kind: mirrored, replicas: 2}\n")) ==
        std::vector<std::string>{"distributed mirrored"});
  CHECK(names_of_runs(plan_of(batch + "strategy: {kind: mirrored, replicas: 2}\ntrain: {max_steps: 0}\n"
                                      "compare: {baseline: one_device}\n")) ==
        std::vector<std::string>{"baseline one_device", "distributed mirrored"});
  // With one replica the distributed run itself shows the overhead.
  CHECK(names_of_runs(plan_of(batch + "strategy: {kind: mirrored, replicas: 1}\n"
                                      "compare: {baseline: one_device}\n")) ==
        std::vector<std::string>{"baseline one_device", "distributed mirrored"});
}

TEST_CASE("servers are processes beside those that train, and an update is one worker's") {
  const std::string text =
      "strategy: {kind: parameter_server, workers: 3, servers: 2}\nbatch: {per_replica: 8}\n"
      "train: {learning_rate_scaling: {rule: linear, reference_batch: 4}, optimizer: {learning_rate: 0.5}}\n"
      "compare: {baseline: one_device}\n";
  const JobPlan job = plan_of(text, Launched{.cores = 12});
  CHECK(names_of_runs(job) ==
        std::vector<std::string>{"baseline one_device", "distributed parameter_server"});
  const RunPlan& run = job.distributed_run();
  CHECK(run.replicas == 3);
  CHECK(run.servers == 2);
  CHECK(run.processes() == 5);
  CHECK(run.is_asynchronous());
  CHECK(run.batch.global == 24);
  CHECK(run.phases.front().learning_rate.scaled == 1.0);  // 8 / 4, not 24 / 4
  CHECK(run.threads_per_replica == 2);
  CHECK(job.runs.front().processes() == 1);
  CHECK_FALSE(job.runs.front().is_asynchronous());
  CHECK(names_of_runs(plan_of(text, 5)).size() == 2);
  CHECK_THAT(problems_in(text, 4), ContainsSubstring("strategy.workers: 3 workers and 2 servers are 5 "
                                                     "processes, but the launcher started 4"));
}

TEST_CASE("several hosts share workers and servers, in the order of ranks") {
  const std::string text =
      "hosts: [a, b]\nstrategy: {kind: parameter_server, workers: 3, servers: 2}\nbatch: {per_replica: 8}\n";
  const JobPlan job = plan_of(text, Launched{.hosts = 2, .cores = 7});
  const RunPlan& run = job.distributed_run();
  CHECK(run.replicas == 3);
  CHECK(run.threads_per_replica == 2);
  CHECK(run.ranks_on(0, 2).begin == 0);
  CHECK(run.ranks_on(0, 2).end == run.ranks_on(1, 2).begin);
  CHECK(run.ranks_on(1, 2).end == 5);
}

TEST_CASE("the roles that TF_CONFIG gives must be those of the spec") {
  const auto problems = [](const std::string& strategy, int64_t servers) {
    LoadedSpec loaded = parse_spec("strategy: " + strategy + "\nbatch: {per_replica: 8}\n", "job.yaml");
    const PlannedJob planned = plan_job(loaded, mnist(), {.hosts = 5, .servers = servers, .by = "TF_CONFIG"});
    return planned.ok() ? "" : planned.problems.front().to_string();
  };
  CHECK(problems("{kind: parameter_server, workers: 3, servers: 2}", 2).empty());
  CHECK(problems("{kind: parameter_server, workers: 8, servers: 2}", 0).empty());
  CHECK_THAT(
      problems("{kind: parameter_server, workers: 2, servers: 3}", 2),
      ContainsSubstring("2 workers and 3 servers, but TF_CONFIG lists 3 (chief and worker) and 2 (ps)"));
  CHECK_THAT(problems("{kind: multi_worker_mirrored}", 2),
             ContainsSubstring("multi_worker_mirrored has no servers, but TF_CONFIG lists 2 (ps)"));
}

TEST_CASE("a global batch is divided over replicas and accumulated passes") {
  const JobPlan job = plan_of(
      "strategy: {kind: mirrored, replicas: 4}\nbatch: {global: 96, accumulate_steps: 3}\n"
      "compare: {baseline: one_device}\n");
  CHECK(job.distributed_run().batch.per_replica == 8);
  CHECK(job.runs.front().batch.per_replica == 32);  // one replica takes the same step alone
  CHECK(job.runs.front().batch.global == 96);
  CHECK(job.runs.front().steps_per_epoch == job.distributed_run().steps_per_epoch);
}

TEST_CASE("a global batch that the launched replicas cannot share is said once, where it is written") {
  CHECK(
      problems_in("strategy: {kind: mirrored}\nbatch:\n  global: 64\ncompare: {baseline: one_device}\n", 3) ==
      "spec:3:3: batch.global: 64 does not divide into 3 replicas x 1 accumulation step; use a multiple of "
      "3, or batch.per_replica\n");
}

TEST_CASE("steps are cut by max_steps, and the epochs with them") {
  struct Case {
    int64_t epochs;
    std::string max_steps;
    int64_t total_steps;
    int64_t started_epochs;
  };
  for (const Case& each : std::vector<Case>{{3, "none", 2814, 3},
                                            {3, "2814", 2814, 3},
                                            {3, "1000000", 2814, 3},
                                            {3, "2813", 2813, 3},
                                            {3, "1876", 1876, 2},
                                            {3, "939", 939, 2},
                                            {3, "938", 938, 1},
                                            {3, "1", 1, 1},
                                            {1000000, "none", 938000000, 1000000}}) {
    INFO(each.epochs << " epochs, max_steps " << each.max_steps);
    const JobPlan job = plan_of("batch: {per_replica: 64}\ntrain: {epochs: " + std::to_string(each.epochs) +
                                ", max_steps: " + each.max_steps + "}\n");
    CHECK(job.distributed_run().steps_per_epoch == 938);
    CHECK(job.distributed_run().total_steps == each.total_steps);
    CHECK(job.distributed_run().epochs == each.started_epochs);
  }
}

TEST_CASE("drop_remainder leaves out the last step") {
  CHECK(plan_of("batch: {per_replica: 64}\ndata: {drop_remainder: true}\n").runs[0].steps_per_epoch == 937);
  CHECK(plan_of("batch: {per_replica: 60000}\ndata: {drop_remainder: true}\n").runs[0].steps_per_epoch == 1);
}

TEST_CASE("a batch that never fills is said once, for the largest of the runs") {
  CHECK(problems_in("strategy: {kind: mirrored, replicas: 2}\nbatch: {per_replica: 60001}\n"
                    "data:\n  drop_remainder: true\ncompare: {baseline: one_device}\n") ==
        "spec:4:3: data.drop_remainder: a global batch of 120002 never fills from 60000 examples; use a "
        "smaller batch or drop_remainder: false\n");
  // The baseline's batch would fill; that of two replicas does not.
  CHECK_THAT(problems_in("strategy: {kind: mirrored, replicas: 2}\nbatch: {per_replica: 40000}\n"
                         "data: {drop_remainder: true}\ncompare: {baseline: one_device}\n"),
             ContainsSubstring("a global batch of 80000 never fills"));
  // Without it the batch is a partial one.
  CHECK(plan_of("batch: {per_replica: 60001}\n").runs[0].steps_per_epoch == 1);
}

TEST_CASE("the learning rate is scaled by the global batch of each run") {
  const std::string job =
      "strategy: {kind: mirrored, replicas: 4}\nbatch: {per_replica: 32, accumulate_steps: 2}\n"
      "compare: {baseline: one_device}\n"
      "train: {optimizer: {kind: sgd, learning_rate: 0.1}, learning_rate_scaling: ";
  const JobPlan none = plan_of(job + "{rule: none, warmup_steps: 7}}\n");
  CHECK(none.distributed_run().phases.front().learning_rate.scaled == Approx(0.1));
  CHECK(none.distributed_run().phases.front().learning_rate.warmup_steps == 7);
  CHECK(none.distributed_run().phases.front().learning_rate.derivation ==
        "0.1 (no scaling); warmup over 7 steps");
  const JobPlan linear = plan_of(job + "{rule: linear, reference_batch: 64}}\n");
  CHECK(linear.runs.front().phases.front().learning_rate.scaled == Approx(0.1));       // 1 x 32 x 2
  CHECK(linear.distributed_run().phases.front().learning_rate.scaled == Approx(0.4));  // 4 x 32 x 2
  CHECK(linear.distributed_run().phases.front().learning_rate.derivation == "0.1 x 256/64 (linear) = 0.4");
  const JobPlan root = plan_of(job + "{rule: sqrt, reference_batch: 64}}\n");
  CHECK(root.distributed_run().phases.front().learning_rate.scaled == Approx(0.2));
}

TEST_CASE("bytes of an all-reduce follow the type of the weights") {
  const std::string spec = "batch: {per_replica: 8}\nmodel: {kind: mlp, hidden: [], dtype: ";
  const auto bytes_of = [&](const std::string& dtype) {
    const JobPlan job = plan_of(spec + dtype + "}\n");
    return job.bytes_per_all_reduce(job.distributed_run().phases.front());
  };
  CHECK(bytes_of("float32") == 4 * 7850);  // 784 x 10 + 10
  CHECK(bytes_of("float64") == 8 * 7850);
}

TEST_CASE("shape problems are placed at the layer") {
  CHECK_THAT(problems_in("batch: {per_replica: 8}\n"
                         "model:\n"
                         "  kind: layers\n"
                         "  layers:\n"
                         "    - {kind: flatten}\n"
                         "    - {kind: conv2d, filters: 8}\n"
                         "    - {kind: dense, units: 10}\n"),
             ContainsSubstring("spec:6:7: model.layers[1]: conv2d") && ContainsSubstring("[784]"));
  CHECK_THAT(problems_in("batch: {per_replica: 8}\n"
                         "model:\n"
                         "  kind: layers\n"
                         "  layers:\n"
                         "    - {kind: flatten}\n"
                         "    - {kind: dense, units: 9}\n"),
             ContainsSubstring("spec:6:7: model.layers[1]: ") && ContainsSubstring("[9]") &&
                 ContainsSubstring("10"));
}

TEST_CASE("shape problems of a named model are placed at the model") {
  CHECK_THAT(problems_in("batch: {per_replica: 8}\n"
                         "model: {kind: cnn, filters: [8], kernel_size: 29}\n"),
             ContainsSubstring("spec:2:1: model: conv2d"));
}

TEST_CASE(
    "a network that images are too small for says so, and its head's problems are placed at the layer") {
  CHECK_THAT(problems_in("batch: {per_replica: 8}\n"
                         "model: {kind: vgg}\n"),
             ContainsSubstring("spec:2:1: model: vgg does not take inputs of [1, 28, 28]: max_pool2d_4"));
  const std::string of_head = problems_in(
      "batch: {per_replica: 8}\n"
      "model:\n"
      "  kind: cifar_resnet\n"
      "  include_top: false\n"
      "  head:\n"
      "    - {kind: global_avg_pool2d}\n"
      "    - {kind: dense, units: 9}\n");
  CHECK_THAT(of_head, ContainsSubstring("spec:7:7: model.head[1]: ") && ContainsSubstring("[9]"));
}

TEST_CASE("problems of different kinds are listed together") {
  const std::string problems = problems_in(
      "strategy: {kind: mirrored, replicas: 2}\nbatch: {per_replica: 8}\n"
      "model: {kind: layers, layers: [{kind: dense, units: 10}]}\n",
      3);
  CHECK_THAT(problems, ContainsSubstring("strategy.replicas: ") && ContainsSubstring("model.layers[0]: "));
}

TEST_CASE("a run evaluates when there is something to evaluate") {
  DatasetInfo data = mnist();
  data.test_examples = 0;
  CHECK_FALSE(plan_of("batch: {per_replica: 8}\n", std::nullopt, data).distributed_run().evaluates);
}

TEST_CASE("the example specs have no problems") {
  const ShippedTables tables;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(DTRAIN_SOURCE_DIR) + "/configs")) {
    INFO(entry.path());
    LoadedSpec loaded = load_spec(entry.path());
    if (loaded.spec.data.dataset != "synthetic")
      loaded.spec.data.path = tables.path_for(entry.path()).value_or("/nonexistent");
    CHECK(problems_of(plan_job(loaded, describe_dataset)).empty());
  }
}

TEST_CASE("schedules in epochs follow each run's own steps, those in steps do not") {
  const std::string text =
      "batch: {per_replica: 64}\nstrategy: {kind: mirrored, replicas: 2}\ncompare: {baseline: one_device}\n"
      "train: {epochs: 9, schedule: {kind: piecewise, boundaries: [3, 7], values: [1.0e-3, 1.0e-4, 1.0e-5], "
      "unit: ";
  const JobPlan epochs = plan_of(text + "epochs}}\n");
  for (const RunPlan& run : {epochs.runs.front(), epochs.distributed_run()}) {
    CHECK(run.learning_rate_at(3 * run.steps_per_epoch - 1) == 1e-3);
    CHECK(run.learning_rate_at(3 * run.steps_per_epoch) == 1e-4);
    CHECK(run.learning_rate_at(run.total_steps - 1) == 1e-5);
  }
  const JobPlan steps = plan_of(text + "steps}}\n");
  for (const RunPlan& run : {steps.runs.front(), steps.distributed_run()}) {
    CHECK(run.learning_rate_at(2) == 1e-3);
    CHECK(run.learning_rate_at(3) == 1e-4);
  }
}

TEST_CASE("a profile must begin within the job") {
  const std::string text = "batch: {per_replica: 64}\ntrain: {max_steps: 10}\n";
  CHECK_THAT(problems_in(text + "callbacks: {profile: {start_step: 11}}\n"),
             ContainsSubstring("spec:3:23: callbacks.profile.start_step: is 11, but the job has 10 steps"));
  CHECK(problems_in(text + "callbacks: {profile: {start_step: 10}}\n") == "");
}

TEST_CASE("reduce_on_plateau needs something to evaluate") {
  DatasetInfo data = mnist();
  data.test_examples = 0;
  const std::string text = "batch: {per_replica: 64}\ntrain: {schedule: {kind: reduce_on_plateau}}\n";
  CHECK_THAT(problems_in(text, std::nullopt, data),
             ContainsSubstring("spec:2:20: train.schedule.kind: reduce_on_plateau goes by evaluations"));
  CHECK(problems_in(text) == "");
}

}  // namespace
}  // namespace dtrain
