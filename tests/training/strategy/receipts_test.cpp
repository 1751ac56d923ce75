// Receipts (step/receipts.h) of steps that threads make as replicas.
#include <ATen/ATen.h>

#include "catch.h"
#include "runs/receipts.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;

constexpr int kStepsMade = 11;

JobSpec spec_with_receipts(std::optional<int64_t> virtual_replicas = {}) {
  JobSpec spec = small_spec();
  spec.receipts.every_steps = 2;
  spec.strategy.virtual_replicas = virtual_replicas;
  spec.data.train_examples = 61;  // of virtual replicas, some have no example in the last step of an epoch
  return spec;
}

TrainingResult trained(const JobSpec& spec, int replicas, const CollectedVariables* from = nullptr,
                       int first = 0) {
  return train_with_threads(spec, load_dataset(spec.data, 1), replicas, kStepsMade, from, first);
}

std::string compared(const TrainingResult& one, const TrainingResult& other) {
  return compare_receipts(one.receipts, other.receipts).text();
}

const char* const kSame = "steps 2 to 11: the same (6 receipts)\n";

TEST_CASE("virtual replicas have the same receipts with any number of replicas") {
  JobSpec spec = spec_with_receipts(4);
  spec.train.clip_norm = GENERATE(0, 0.5);
  spec = with_batch(spec, 6, 2);
  const TrainingResult one = trained(spec, 1);
  REQUIRE(one.receipts.size() == 6);
  CHECK(one.receipts.back().at("step") == kStepsMade);  // the last one, too
  CHECK(one.receipts.front().at("replicas").size() == 4);
  CHECK(one.receipts.front().at("weights").begin().key() == "dense.weight");
  for (const Place& place : std::vector<Place>{{"mirrored", "shared_memory", 2, 1},
                                               {"mirrored", "shared_memory", 3, 1},
                                               {"mirrored", "gloo", 3, 1},
                                               {"central_storage", "auto", 4, 1},
                                               {"multi_worker_mirrored", "auto", 4, 2}}) {
    INFO(place.kind << " " << place.communication << " " << place.replicas << " on " << place.hosts);
    const TrainingResult many = trained(placed(spec, place), place.replicas);
    CHECK(compared(one, many) == kSame);
    for (size_t i = 0; i < many.receipts.size(); ++i)
      CHECK(many.receipts[i].at("replicas") == one.receipts[i].at("replicas"));
  }
}

TEST_CASE("receipts change nothing, and come again") {
  JobSpec spec = spec_with_receipts();
  struct Way {
    const char *communication, *device;
    int replicas;
    size_t alone;  // gradients that are to be had
  };
  const Way way = GENERATE(Way{"auto", "cpu", 1, 1}, Way{"shared_memory", "cpu", 3, 3},
                           Way{"gloo", "cpu", 2, 0}, Way{"auto", "cuda", 1, 1}, Way{"gloo", "cuda", 2, 0});
  INFO(way.communication << " " << way.device << " " << way.replicas);
  spec.strategy.communication = way.communication;
  spec.strategy.devices = {way.device};
  spec.train.step = GENERATE("auto", "eager");
  spec = with_batch(spec, 6);
  const TrainingResult once = trained(spec, way.replicas), again = trained(spec, way.replicas);
  CHECK(compared(once, again) == kSame);
  CHECK(once.receipts.front().at("replicas").size() == way.alone);
  spec.receipts.every_steps.reset();
  const TrainingResult without = trained(spec, way.replicas);
  CHECK(without.losses == once.losses);
  CHECK(relative_difference(without.variables, once.variables) == 0);
}

TEST_CASE("the examples of a step have one hash, however many replicas share them") {
  const TrainingResult one = trained(with_batch(spec_with_receipts(), 12), 1);
  const TrainingResult three = trained(with_batch(spec_with_receipts(), 4), 3);
  for (size_t i = 0; i < one.receipts.size(); ++i)
    CHECK(one.receipts[i].at("examples") == three.receipts[i].at("examples"));
  JobSpec other = with_batch(spec_with_receipts(), 12);
  other.seed = 2;  // another order
  CHECK_THAT(compared(one, trained(other, 1)),
             StartsWith("step 2: differs in the examples, then in the gradient"));
}

TEST_CASE("a weight whose last bit flips is in the next receipt") {
  const JobSpec spec = with_batch(spec_with_receipts(4), 6);
  const TrainingResult whole = trained(spec, 2);
  JobSpec half = spec;
  TrainingResult saved = train_with_threads(half, load_dataset(spec.data, 1), 2, 5);
  CHECK(compared(whole, trained(spec, 1, &saved.collected, 5)) ==
        "steps 6 to 11: the same (4 receipts)\n"
        "skipped 2 receipts of steps for which the other side has none\n");
  for (auto& [name, tensor] : saved.collected.model) {
    if (name == "dense_1.bias") static_cast<int32_t*>(tensor.mutable_data_ptr())[3] ^= 1;
  }
  CHECK_THAT(compared(whole, trained(spec, 2, &saved.collected, 5)),
             StartsWith("step 6: differs in ") && ContainsSubstring("the weights of dense_1.bias"));
}

TEST_CASE("with frozen layers, receipts have what is trained") {
  JobSpec spec = with_batch(spec_with_receipts(2), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const std::vector<PhaseChange> phases = {{0, {.each = {false, false, false, false, false, true}}}, {6, {}}};
  const TrainingResult one = train_with_threads(spec, dataset, 1, kStepsMade, nullptr, 0, false, phases);
  CHECK(one.receipts.front().at("weights").size() == 2);
  CHECK(one.receipts.back().at("weights").size() == 6);
  CHECK(compared(one, train_with_threads(spec, dataset, 2, kStepsMade, nullptr, 0, false, phases)) == kSame);
}

}  // namespace
}  // namespace dtrain
