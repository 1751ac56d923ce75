// Replicas as threads, one of which has a bit flipped in its memory between two steps.
#include "step/sentinel.h"

#include <ATen/ATen.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <tuple>
#include <vector>

#include "architectures/architectures.h"
#include "catch.h"
#include "comm/group_threads.h"
#include "core/error.h"
#include "core/named.h"
#include "data/dataset.h"
#include "optim/optimizer_specs.h"
#include "sanitized.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kWatchedSteps = 6;

// A low bit of the mantissa of a float32 parameter's last element. The lowest ones would be lost again when
// updates are rounded.
void flip_a_bit(const at::Tensor& parameter) {
  auto* const bits = static_cast<uint32_t*>(parameter.mutable_data_ptr());
  bits[parameter.numel() - 1] ^= 1U << 6;
}

// In place of CHECK, which is for one thread only.
void demand(bool holds, const std::string& claim) {
  if (!holds) throw std::runtime_error("not so: " + claim);
}

// One replica that trains by hand.
struct Trained {
  Trained(const JobSpec& spec, const Dataset& dataset, std::unique_ptr<ProcessGroup> own_group)
      : rank(own_group->rank()), plan(resolve_batch(spec, own_group->size())) {
    const LayerPlan layers = place_layers(expand_layers(spec.model, dataset.info.classes),
                                          dataset.info.example_shape, dataset.info.classes);
    model = build_model(layers, dtype_from_name(spec.model.dtype), 1);
    StrategyParts parts;
    parts.model = model;
    parts.train = spec.train;
    if (spec.train.precision == "fp16_mixed") parts.loss_scale = std::make_shared<LossScale>();
    parts.group = std::move(own_group);
    parts.reducer.bucket_bytes = 1024;
    strategy = make_strategy(spec.strategy.kind, std::move(parts));
    strategy->place_variables();
    LoaderOptions options;
    options.plan = plan;
    options.own = {rank, rank + 1};
    loader = std::make_unique<ShareLoader>(dataset.train, options);
    loader->start_epoch(0);
    rate = spec.train.optimizer.learning_rate;
  }
  void step() {
    const auto share = loader->next();
    strategy->sum_over_replicas(strategy->train_step(*share, {1, rate}));
  }

  int rank;
  BatchPlan plan;
  std::shared_ptr<Model> model;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<ShareLoader> loader;
  double rate = 0;
};

JobSpec checked_spec(const std::string& kind, const std::string& communication) {
  JobSpec spec = small_spec();
  spec.strategy.kind = kind;
  spec.strategy.communication = communication;
  spec.batch.global = 24;
  return spec;
}

// Runs `body` for each replica and returns how each failed: "" for those that did not.
std::vector<std::string> failures_of(const JobSpec& spec, int replicas,
                                     const std::function<void(Trained&)>& body, int hosts = 1) {
  const Dataset dataset = load_dataset(spec.data, 42);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> failures(static_cast<size_t>(replicas));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < replicas; ++rank) {
    threads.emplace_back([&, rank] {
      auto& failure = failures[static_cast<size_t>(rank)];
      try {
        Trained trained(spec, dataset,
                        make_group(spec.strategy.communication, store, rank, replicas,
                                   std::chrono::seconds(20), network_of(hosts, replicas, rank)));
        body(trained);
        trained.strategy->finish();
      } catch (const Error& error) {
        failure = std::to_string(static_cast<int>(error.code())) + " " + error.what();
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

void check_all_say(const std::vector<std::string>& failures, const std::string& text) {
  for (const std::string& failure : failures) {
    CHECK(failure == failures.front());
    CHECK_THAT(failure, ContainsSubstring("10 memory of ") && ContainsSubstring(text) &&
                            ContainsSubstring("nothing of it was saved"));
  }
}

TEST_CASE("a flipped bit in a copy of the variables is found, however long ago, and its replica named") {
  const auto [replicas, hosts] = GENERATE(table<int, int>({{3, 1}, {4, 2}, {6, 1}}));
  const int culprit = GENERATE(0, 1);
  const JobSpec spec = checked_spec("mirrored", hosts == 1 ? "gloo" : "auto");
  INFO(replicas << " replicas on " << hosts << " hosts, rank " << culprit);
  const auto failures = failures_of(
      spec, replicas,
      [&, culprit = culprit](Trained& trained) {
        for (int step = 0; step < kWatchedSteps; ++step) {
          trained.step();
          if (step == 1) trained.strategy->check_variables();
          if (step == 1 && trained.rank == culprit) flip_a_bit(trained.model->parameters().front());
        }
        trained.strategy->check_variables();
      },
      hosts);
  check_all_say(failures, "rank " + std::to_string(culprit) + " on host ");
  CHECK_THAT(failures.front(), ContainsSubstring("its copy of the variables differs from that of the other " +
                                                 std::to_string(replicas - 1) + " replicas"));
}

TEST_CASE("of two copies that differ both are named") {
  const auto failures = failures_of(checked_spec("mirrored", "gloo"), 2, [](Trained& trained) {
    trained.step();
    if (trained.rank == 1) flip_a_bit(trained.model->parameters().back());
    trained.step();
    trained.strategy->check_variables();
  });
  check_all_say(failures, "one of rank 0 on host ");
  check_all_say(failures, ", rank 1 on host ");
}

struct Owned {
  const char* kind;
  const char* communication;
  int replicas;
};

TEST_CASE("a flipped bit in what one replica updates is found by the step after a check") {
  const auto [kind, communication, replicas] =
      GENERATE(Owned{"mirrored", "shared_memory", 2}, Owned{"mirrored", "shared_memory", 3},
               Owned{"central_storage", "auto", 2}, Owned{"one_device", "auto", 1});
  INFO(kind << " " << communication << " " << replicas);
  const int owner = replicas - 1;  // of the last parameter
  std::string name;
  const auto failures = failures_of(checked_spec(kind, communication), replicas, [&](Trained& trained) {
    for (int step = 0; step < kWatchedSteps; ++step) {
      demand(step <= 3, "the step after the check fails");
      trained.step();
      if (step != 2) continue;
      trained.strategy->check_variables();
      if (trained.rank != owner) continue;
      flip_a_bit(trained.model->parameters().back());
      name = trained.model->named_parameters().back().key();
    }
  });
  check_all_say(failures, "memory of rank " + std::to_string(owner) + " on host ");
  CHECK_THAT(failures.front(), ContainsSubstring("'" + name + "' or what the optimizer remembers of it"));
}

TEST_CASE("what is checked again before the next step is found too") {
  const auto failures = failures_of(checked_spec("central_storage", "auto"), 2, [](Trained& trained) {
    trained.step();
    trained.strategy->check_variables();
    if (trained.rank == 1) flip_a_bit(trained.model->parameters().back());
    trained.strategy->check_variables();
  });
  check_all_say(failures, "memory of rank 1 on host ");
}

TEST_CASE("what no step can have made is suspect for good, until variables are restored") {
  const auto [kind, communication, replicas] =
      GENERATE(Owned{"mirrored", "shared_memory", 2}, Owned{"central_storage", "auto", 3},
               Owned{"one_device", "auto", 1});
  JobSpec spec = checked_spec(kind, communication);
  set_kind(spec.train.optimizer, GENERATE("adam", "sgd"));
  spec.train.ema.decay = GENERATE(0.0, 0.5);
  INFO(kind << " " << replicas << " " << spec.train.optimizer.kind << " " << spec.train.ema.decay);
  const auto failures = failures_of(spec, replicas, [&](Trained& trained) {
    Strategy& strategy = *trained.strategy;
    const auto suspicion = [&] {
      const std::string warning = strategy.check_variables();
      const CollectedVariables collected = strategy.collect_variables();
      demand(collected.suspicion == warning, "what was collected is as suspect");
      return warning;
    };
    trained.step();
    demand(suspicion().empty(), "what is good is not suspect");
    const CollectedVariables good = strategy.collect_variables();
    trained.step();
    strategy.sum_over_replicas(MetricSums());  // nobody reads variables any more
    if (trained.rank == 0) trained.model->parameters().front().detach().view(-1)[0].fill_(1e30);
    strategy.sum_over_replicas(MetricSums());
    for (int check = 0; check < 3; ++check) {
      const std::string warning = suspicion();
      demand(warning.find("the largest weight of rank 0 is 1e+30") != std::string::npos &&
                 warning.find("memory may be corrupt") != std::string::npos,
             "suspect: " + warning);
    }
    strategy.restore_variables(good, 1);
    demand(suspicion().empty(), "what was restored is not suspect");
  });
  for (const std::string& failure : failures) CHECK(failure == "");
}

// On one device every optimizer with whatever there is besides; elsewhere every one with nothing, and adam,
// lamb (norms) and muon (whole matrices) with everything. Under the sanitizers all that there is besides only
// with adam.
std::vector<std::tuple<Owned, std::string, std::string>> sound_jobs() {
  std::vector<std::tuple<Owned, std::string, std::string>> jobs;
  for (const Owned& owned : {Owned{"mirrored", "shared_memory", 3}, Owned{"mirrored", "gloo", 3},
                             Owned{"central_storage", "auto", 2}, Owned{"one_device", "auto", 1}}) {
    for (const std::string& optimizer : names_of_rows(all_optimizers())) {
      for (const char* more : {"", "ema", "clip", "decay", "fp16_mixed", "accumulate"}) {
        if (kSanitized && optimizer != "adam" && *more != '\0') continue;
        if (owned.replicas == 1 || optimizer == "adam" || optimizer == "lamb" || optimizer == "muon" ||
            *more == '\0')
          jobs.emplace_back(owned, optimizer, more);
      }
    }
  }
  return jobs;
}

TEST_CASE("nothing is found where nothing is wrong") {
  const auto [owned, optimizer, more] = GENERATE(from_range(sound_jobs()));
  const auto& [kind, communication, replicas] = owned;
  JobSpec spec = checked_spec(kind, communication);
  set_kind(spec.train.optimizer, optimizer);
  if (more == "ema") spec.train.ema.decay = 0.9;
  if (more == "clip") spec.train.clip_norm = 0.1;
  if (more == "decay") spec.train.optimizer.weight_decay = 0.01;
  if (more == "fp16_mixed") spec.train.precision = more;
  if (more == "accumulate") spec.batch.accumulate_steps = 2;
  INFO(kind << " " << communication << " " << spec.train.optimizer.kind << " " << more);
  const auto failures = failures_of(spec, replicas, [&](Trained& trained) {
    Share test;
    for (int step = 0; step < kWatchedSteps; ++step) {
      trained.step();
      demand(trained.strategy->check_variables().empty(), "no warning");
      if (step == 3) trained.strategy->evaluate(test);
      if (step == 4) trained.strategy->collect_variables();
    }
  });
  for (const std::string& failure : failures) CHECK(failure == "");
}

}  // namespace
}  // namespace dtrain
