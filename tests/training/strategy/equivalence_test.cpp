// N replicas with batch B must equal one replica with batch N*B; micro-batches must equal one large batch.
#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <tuple>

#include "catch.h"
#include "core/named.h"
#include "models/layer_specs.h"
#include "optim/optimizer_specs.h"
#include "sanitized.h"
#include "spec/augment_kinds.h"
#include "spec/layer_kinds.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kSteps = 20;
// With a partial batch after some steps that were replayed, and replayed ones after it, of 19 an epoch.
constexpr int kRecordedSteps = 24;

// All; under the sanitizers one that works by numbers, one by norms, one by whole matrices.
std::vector<std::string> optimizers() {
  return kSanitized ? std::vector<std::string>{"adam", "lamb", "muon"} : names_of_rows(all_optimizers());
}

// `replicas` replicas with batch B against one with replicas * B, over every kind of communication.
void require_equal(JobSpec base, int replicas, int64_t per_replica, double tolerance) {
  base.strategy.communication = GENERATE("gloo", "shared_memory");
  const Dataset dataset = load_dataset(base.data, 1);
  const auto one = train_with_threads(with_batch(base, per_replica * replicas), dataset, 1, kSteps);
  const auto many = train_with_threads(with_batch(base, per_replica), dataset, replicas, kSteps);
  CHECK(relative_difference(one.variables, many.variables) < tolerance);
  CHECK(one.examples == many.examples);
  CHECK(many.evaluated_examples == 101);
  CHECK(many.evaluation_loss == Approx(one.evaluation_loss).epsilon(1e-5));
  CHECK(one.losses.back() < one.losses.front());  // it learns: the comparison is not one of untouched weights
}

TEST_CASE("replicas equal one replica with the whole batch, SGD with momentum") {
  const JobSpec spec = small_spec();
  SECTION("2 replicas") { require_equal(spec, 2, 12, 1e-6); }
  SECTION("3 replicas") { require_equal(spec, 3, 8, 1e-6); }
}

TEST_CASE("replicas equal one replica with the whole batch in float64 to 1e-12") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  SECTION("2 replicas") { require_equal(spec, 2, 12, 1e-12); }
  SECTION("3 replicas") { require_equal(spec, 3, 8, 1e-12); }
}

TEST_CASE("a device that holds the examples and replays its steps comes to the weights of the CPU") {
  JobSpec spec = with_batch(small_spec(), 32);  // the last batch of an epoch is smaller
  spec.model.dtype = "float64";
  spec.data.mean = 0.13;
  spec.data.standard_deviation = 0.31;
  set_kind(spec.train.optimizer, GENERATE(from_range(optimizers())));
  spec.train.learning_rate_scaling.warmup_steps = 30;  // a rate of its own for each step
  const Dataset dataset = load_dataset(spec.data, 1);
  const int replicas = GENERATE(1, 2);
  const auto host = train_with_threads(spec, dataset, replicas, kRecordedSteps);
  spec.strategy.devices = {"cuda"};
  spec.cuda.data = GENERATE("resident", "uploaded");
  const auto device = train_with_threads(spec, dataset, replicas, kRecordedSteps);
  CHECK(relative_difference(host.variables, device.variables) < 1e-12);
  CHECK(device.examples == host.examples);
  CHECK(device.evaluated_examples == host.evaluated_examples);
  CHECK(device.evaluation_loss == Approx(host.evaluation_loss));
}

// Slices of 8x8 images' kernels end within a parameter, whose other slices other replicas have.
TEST_CASE(
    "replicas that divide the update scale it by the norms of whole parameters, and resume to the same "
    "bits") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  OptimizerSpec& optimizer = spec.train.optimizer;
  optimizer = {.kind = GENERATE("lars", "lamb"), .learning_rate = 0.05, .weight_decay = 0.1};
  if (optimizer.kind == "lars") optimizer.own = LarsFields{.trust_coefficient = 0.5};
  std::tie(optimizer.weight_decay_exclude, spec.train.clip_norm) =
      GENERATE(table<std::string, double>({{"biases_and_norms", 0.0}, {"none", 0.1}}));
  spec.strategy.communication = "shared_memory";
  const int replicas = GENERATE(2, 3);
  INFO(optimizer.kind << " " << optimizer.weight_decay_exclude << " " << spec.train.clip_norm);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  spec = with_batch(spec, 24 / replicas);
  const auto many = train_with_threads(spec, dataset, replicas, kSteps);
  CHECK(relative_difference(one.variables, many.variables) < 1e-12);
  const auto begun = train_with_threads(spec, dataset, replicas, 1);
  CHECK(relative_difference(begun.variables, many.variables) > 0.01);
  const auto resumed = train_with_threads(spec, dataset, replicas, kSteps, &begun.collected, 1);
  CHECK(relative_difference(resumed.variables, many.variables) == 0);
}

TEST_CASE("replicas that each update some whole matrices train as one does, and resume to the same bits") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  OptimizerSpec& optimizer = spec.train.optimizer;
  optimizer = {.kind = "muon", .learning_rate = 0.02, .weight_decay = 0.1};
  std::tie(optimizer.weight_decay_exclude, spec.train.clip_norm, spec.train.ema.decay) =
      GENERATE(table<std::string, double, double>({{"biases_and_norms", 0.0, 0.0}, {"none", 0.1, 0.9}}));
  spec.strategy.communication = GENERATE("shared_memory", "gloo");
  const int replicas = GENERATE(2, 3);
  INFO(optimizer.weight_decay_exclude << " " << spec.train.clip_norm << " " << spec.strategy.communication);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  spec = with_batch(spec, 24 / replicas);
  const auto many = train_with_threads(spec, dataset, replicas, kSteps);
  // Rounding is multiplied by up to 485 where the gradient's singular values are nearly 0.
  CHECK(relative_difference(one.variables, many.variables) < 1e-10);
  CHECK(one.losses.back() < one.losses.front());
  const auto begun = train_with_threads(spec, dataset, replicas, 1);
  CHECK(relative_difference(begun.variables, many.variables) > 0.01);
  const auto resumed = train_with_threads(spec, dataset, replicas, kSteps, &begun.collected, 1);
  const double difference = relative_difference(resumed.variables, many.variables);
  if (spec.strategy.communication == "gloo" && replicas > 2)  // sums in another order in the first step
    CHECK(difference < 1e-10);
  else
    CHECK(difference == 0);
}

TEST_CASE("central storage trains the very weights that mirroring does") {
  JobSpec spec = with_batch(small_spec(), 8);
  set_kind(spec.train.optimizer, GENERATE(from_range(optimizers())));
  spec.strategy.communication = "shared_memory";
  const int replicas = GENERATE(2, 3);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto mirrored = train_with_threads(spec, dataset, replicas, kSteps);
  spec.strategy.kind = "central_storage";
  const auto central = train_with_threads(spec, dataset, replicas, kSteps);
  CHECK(relative_difference(mirrored.variables, central.variables) == 0);
  CHECK(mirrored.losses == central.losses);
  CHECK(mirrored.evaluation_loss == central.evaluation_loss);
}

JobSpec on_hosts(JobSpec spec, int hosts) {
  for (int host = 0; host < hosts; ++host)
    spec.hosts.push_back(std::string(1, static_cast<char>('a' + host)));
  spec.strategy.communication = "auto";
  return spec;
}

TEST_CASE("replicas on several hosts equal one replica with the whole batch") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.data.train_examples = 101;  // the last step has 5 examples
  const auto [hosts, replicas] = GENERATE(table<int, int>({{2, 2}, {2, 4}, {3, 6}, {3, 3}}));
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto many =
      train_with_threads(with_batch(on_hosts(spec, hosts), 24 / replicas), dataset, replicas, kSteps);
  CHECK(relative_difference(one.variables, many.variables) < 1e-12);
  CHECK(one.examples == many.examples);
  CHECK(many.evaluated_examples == 101);
  CHECK(many.evaluation_loss == Approx(one.evaluation_loss).epsilon(1e-10));
}

TEST_CASE("accumulation on several hosts equals one large batch") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto large = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto many = train_with_threads(with_batch(on_hosts(spec, 2), 3, 2), dataset, 4, kSteps);
  CHECK(relative_difference(large.variables, many.variables) < 1e-12);
}

TEST_CASE("compressed gradients train nearly the same weights, and the same on every replica") {
  JobSpec spec = with_batch(small_spec(), 6);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto exact = train_with_threads(on_hosts(spec, 2), dataset, 4, kSteps);
  spec.strategy.compress = GENERATE("bf16", "fp16");
  // A gradient of 8 significant bits is wrong by at most 2^-9 of itself, one of 11 bits by 2^-12; the
  // momentum sums up what 20 steps are wrong by.
  const double tolerance = spec.strategy.compress == "bf16" ? 1e-2 : 1e-3;
  const auto compressed = train_with_threads(on_hosts(spec, 2), dataset, 4, kSteps);
  const double difference = relative_difference(exact.variables, compressed.variables);
  CHECK(difference < tolerance);
  CHECK(difference > 0);  // it did compress
  JobSpec flat = spec;
  flat.strategy.communication = "gloo";
  CHECK(relative_difference(exact.variables, train_with_threads(flat, dataset, 4, kSteps).variables) <
        tolerance);
}

TEST_CASE("a convolutional model is equivalent too") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.model.kind = "cnn";
  spec.model.filters = {4};
  spec.model.hidden = {16};
  require_equal(spec, 2, 12, 1e-12);
}

TEST_CASE("images that lie in memory by pixels train the same weights, whatever the strategy") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.model.kind = "cnn";
  spec.model.filters = {4, 6};
  spec.model.hidden = {16};
  spec.data.shape = {3, 12, 10};
  const auto [kind, communication] = GENERATE(table<std::string, std::string>(
      {{"mirrored", "shared_memory"}, {"mirrored", "gloo"}, {"central_storage", "auto"}}));
  spec.strategy.kind = kind;
  spec.strategy.communication = communication;
  spec = with_batch(spec, 24);
  const Dataset dataset = load_dataset(spec.data, 1);
  const TrainingResult plain = train_with_threads(spec, dataset, 2, kSteps);
  spec.train.channels_last = true;
  const TrainingResult by_pixels = train_with_threads(spec, dataset, 2, kSteps);
  CHECK(relative_difference(plain.variables, by_pixels.variables) < 1e-12);
}

TEST_CASE("a partial last batch keeps replicas equivalent") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.data.train_examples = 101;  // global batch 24: four full steps and one of 5 examples
  SECTION("2 replicas share 5 examples as 3 and 2") { require_equal(spec, 2, 12, 1e-12); }
  SECTION("3 replicas") { require_equal(spec, 3, 8, 1e-12); }
}

TEST_CASE("more replicas than samples in the last batch: empty shares take part") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.data.train_examples = 49;  // global batch 24: the third step has one example
  require_equal(spec, 2, 12, 1e-12);
  spec.data.train_examples = 50;  // two examples for three replicas
  require_equal(spec, 3, 8, 1e-12);
}

// Models whose last step of an epoch has few examples, so that shares are uneven and some are empty.
void require_equal_with_uneven_shares(JobSpec spec) {
  spec.model.dtype = "float64";
  // Of global batches of 24, that many examples leave 5, 5, 1 and 1 to so many replicas.
  const auto [examples, replicas] = GENERATE(table<int64_t, int>({{101, 2}, {101, 3}, {49, 2}, {49, 3}}));
  spec.data.train_examples = examples;
  INFO(replicas << " replicas, " << *spec.data.train_examples << " examples");
  require_equal(spec, replicas, 24 / replicas, 1e-12);
}

TEST_CASE("replicas clip the norm of the whole gradient") {
  JobSpec spec = small_spec();
  spec.train.clip_norm = 0.1;
  spec.train.optimizer.learning_rate = 0.3;
  require_equal_with_uneven_shares(spec);
}

TEST_CASE("replicas that share variables clip as one does, and clipping changes what is trained") {
  JobSpec spec = small_spec();
  spec.train.clip_norm = 0.1;
  spec.train.optimizer.learning_rate = 0.3;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto clipped = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto central = [&] {
    JobSpec shared = with_batch(spec, 12);
    shared.strategy.kind = "central_storage";
    return train_with_threads(shared, dataset, 2, kSteps);
  }();
  CHECK(relative_difference(clipped.variables, central.variables) < 1e-5);
  spec.train.clip_norm = 0;
  const auto free = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  CHECK(relative_difference(clipped.variables, free.variables) > 1e-2);  // it did clip
}

TEST_CASE("replicas on several hosts clip the norm of the whole gradient") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.train.clip_norm = 0.1;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto many = train_with_threads(with_batch(on_hosts(spec, 2), 6), dataset, 4, kSteps);
  CHECK(relative_difference(one.variables, many.variables) < 1e-12);
}

TEST_CASE("replicas with smoothed labels, weight decay for some and averaged weights are equivalent") {
  JobSpec spec = small_spec();
  spec.train.label_smoothing = 0.1;
  spec.train.optimizer.weight_decay = 0.1;
  spec.train.ema.decay = 0.8;
  require_equal_with_uneven_shares(spec);
}

JobSpec augmented_spec() {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.data.train_examples = 101;  // the last step has 5 examples
  for (const char* kind : {"random_resized_crop", "flip", "random_crop", "rotate", "color_jitter",
                           "random_erasing", "trivial_augment", "mixup", "cutmix"})
    spec.data.augment.emplace_back().kind = kind;
  spec.data.augment[3].own = RotateFields{.degrees = {20}};
  spec.data.augment[4].own = ColourFields{.brightness = 0.3, .contrast = 0.3};
  return spec;
}

TEST_CASE("replicas that augment equal one replica with the whole batch in float64 to 1e-12") {
  JobSpec spec = augmented_spec();
  spec.train.label_smoothing = 0.1;
  spec.train.loss.class_weights.weights = {1, 2, 0.5, 1, 3};
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto three = train_with_threads(with_batch(spec, 8), dataset, 3, kSteps);
  const auto eight = train_with_threads(with_batch(spec, 3), dataset, 8, kSteps);  // empty shares
  const auto accumulated = train_with_threads(with_batch(spec, 4, 2), dataset, 3, kSteps);
  for (const auto* many : {&three, &eight, &accumulated}) {
    CHECK(relative_difference(one.variables, many->variables) < 1e-12);
    CHECK(many->evaluation_loss == Approx(one.evaluation_loss).epsilon(1e-10));
  }
  JobSpec plain = spec;
  plain.data.augment.clear();
  const auto unchanged = train_with_threads(with_batch(plain, 24), dataset, 1, kSteps);
  CHECK(relative_difference(one.variables, unchanged.variables) > 1e-3);  // it does something
}

TEST_CASE("a device that is sent mixed pictures and replays its steps comes to the weights of the CPU") {
  const JobSpec spec = with_batch(augmented_spec(), 32);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto host = train_with_threads(spec, dataset, 1, 2 * kSteps);
  JobSpec on_device = spec;
  on_device.strategy.devices = {"cuda"};
  on_device.cuda.data = "uploaded";
  const auto device = train_with_threads(on_device, dataset, 1, 2 * kSteps);
  CHECK(relative_difference(host.variables, device.variables) < 1e-12);
}

TEST_CASE("in mixed precision replicas train nearly what one does, and the same on every replica") {
  JobSpec spec = small_spec();
  spec.train.precision = GENERATE("bf16_mixed", "fp16_mixed");
  spec.train.clip_norm = 1;
  spec.strategy.communication = GENERATE("gloo", "shared_memory");
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto two = train_with_threads(with_batch(spec, 12), dataset, 2, kSteps);
  CHECK(relative_difference(one.variables, two.variables) < 1e-2);  // rounded to 16 bits elsewhere
  JobSpec exact = spec;
  exact.train.precision = "float32";
  const auto whole = train_with_threads(with_batch(exact, 24), dataset, 1, kSteps);
  CHECK(one.losses.back() == Approx(whole.losses.back()).epsilon(0.05));
  // Two steps in, before a rectifier that is near zero has gone another way: 8 and 11 significant bits.
  const auto two_steps = train_with_threads(with_batch(spec, 24), dataset, 1, 2);
  const auto two_exact_steps = train_with_threads(with_batch(exact, 24), dataset, 1, 2);
  const double difference = relative_difference(two_steps.variables, two_exact_steps.variables);
  CHECK(difference < (spec.train.precision == "bf16_mixed" ? 4e-4 : 5e-5));
  CHECK(difference > 0);
}

TEST_CASE("an update whose gradient overflows is skipped on all replicas, whoever brought it") {
  JobSpec spec = with_batch(small_spec(), 12);
  spec.train.precision = "fp16_mixed";
  spec.strategy.communication = GENERATE("gloo", "shared_memory");
  const Dataset dataset = load_dataset(spec.data, 1);
  CollectedVariables from = train_with_threads(spec, dataset, 2, 3).collected;
  for (auto& [name, tensor] : from.training) {
    if (name != "loss_scale") continue;
    CHECK(tensor.size(0) == 3);
    CHECK(tensor[0].item<double>() == 65536);
    tensor[0] = 1e38;  // float32 gradients overflow
  }
  const TrainingResult after = train_with_threads(spec, dataset, 2, 6, &from, 3);
  for (const auto& [name, tensor] : after.collected.training) {
    if (name == "loss_scale") CHECK(tensor[2].item<double>() == 3);
    if (name == "loss_scale") CHECK(tensor[0].item<double>() == 1e38 / 8);
    if (name == "optimizer.steps") CHECK(tensor.item<int64_t>() == 3);
  }
  CHECK(relative_difference(from.model, after.collected.model) == 0);
}

// flatten, dense, batch_norm, relu, dense; or with batch_norm on planes
JobSpec with_batch_norm(JobSpec spec, bool planes) {
  spec.model.kind = "layers";
  const LayerSpec norm = {.kind = "batch_norm", .own = NormFields{.momentum = 0.9}};
  if (planes)
    spec.model.layers = {conv2d(4), norm, layer("relu"), layer("flatten"), dense(5)};
  else
    spec.model.layers = {layer("flatten"), dense(8), norm, layer("relu"), dense(5)};
  return spec;
}

TEST_CASE("replicas that synchronise batch_norm equal one replica with the whole batch") {
  JobSpec spec = with_batch_norm(small_spec(), GENERATE(false, true));
  spec.train.sync_batch_norm = true;
  require_equal_with_uneven_shares(spec);
}

// The mean of statistics that were moved equally often is what moving the mean comes to, but for rounding; a
// replica whose share is empty does not move its own.
TEST_CASE("evaluating changes no moving statistics, though shares are empty") {
  JobSpec spec = with_batch(with_batch_norm(small_spec(), false), 12);
  spec.strategy.kind = GENERATE("mirrored", "central_storage");
  spec.data.train_examples = 49;  // one for two replicas in the third step
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto never = train_with_threads(spec, dataset, 2, kSteps);
  const auto always = train_with_threads(spec, dataset, 2, kSteps, nullptr, 0, /*evaluates_between=*/true);
  CHECK(never.losses == always.losses);
  CHECK(relative_difference(never.variables, always.variables) == 0);
  CHECK(relative_difference(never.collected.training, always.collected.training) == 0);
  CHECK(never.evaluation_loss == always.evaluation_loss);
}

TEST_CASE("replicas on several hosts, and with shared variables, synchronise batch_norm too") {
  JobSpec spec = with_batch_norm(small_spec(), false);
  spec.model.dtype = "float64";
  spec.train.sync_batch_norm = true;
  spec.data.train_examples = 49;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto many = train_with_threads(with_batch(on_hosts(spec, 2), 6), dataset, 4, kSteps);
  CHECK(relative_difference(one.variables, many.variables) < 1e-12);
  JobSpec apart = spec;
  apart.train.sync_batch_norm = false;
  CHECK(relative_difference(one.variables,
                            train_with_threads(with_batch(apart, 12), dataset, 2, kSteps).variables) > 1e-3);
  spec.strategy.kind = "central_storage";
  const auto central = train_with_threads(with_batch(spec, 12), dataset, 2, kSteps);
  CHECK(relative_difference(one.variables, central.variables) < 1e-12);
  CHECK(central.evaluation_loss == Approx(one.evaluation_loss).epsilon(1e-10));
}

TEST_CASE("replicas with synchronised batch_norm that accumulate make their passes together") {
  JobSpec spec = with_batch_norm(small_spec(), false);
  spec.train.sync_batch_norm = true;
  spec.data.train_examples = 51;  // the third step has 3 examples: two passes for one replica's 2, one for 1
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto two = train_with_threads(with_batch(spec, 1, 12), dataset, 2, kSteps);
  CHECK(two.examples.at(2) == 3);
}

TEST_CASE("accumulation over micro-batches equals one large batch") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.data.train_examples = 101;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto large = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  SECTION("one replica, 4 micro-batches") {
    const auto accumulated = train_with_threads(with_batch(spec, 6, 4), dataset, 1, kSteps);
    CHECK(relative_difference(large.variables, accumulated.variables) < 1e-12);
    CHECK(large.examples == accumulated.examples);
  }
  SECTION("two replicas, 3 micro-batches each") {
    const auto accumulated = train_with_threads(with_batch(spec, 4, 3), dataset, 2, kSteps);
    CHECK(relative_difference(large.variables, accumulated.variables) < 1e-12);
    CHECK(large.examples == accumulated.examples);
  }
}

TEST_CASE("Adam amplifies rounding in its first steps, so its losses are compared") {
  JobSpec spec = small_spec();
  spec.train.optimizer = OptimizerSpec{};
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  const auto two = train_with_threads(with_batch(spec, 12), dataset, 2, kSteps);
  for (size_t step = 0; step < one.losses.size(); ++step) {
    CHECK(std::abs(one.losses[step] - two.losses[step]) < 1e-4);
  }
}

TEST_CASE("the same seed twice gives the same bits, another seed does not") {
  const JobSpec spec = with_batch(small_spec(), 12);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto first = train_with_threads(spec, dataset, 2, kSteps);
  const auto second = train_with_threads(spec, dataset, 2, kSteps);
  CHECK(relative_difference(first.variables, second.variables) == 0);
  CHECK(first.losses == second.losses);
  JobSpec other = spec;
  other.seed = 43;
  CHECK(relative_difference(first.variables, train_with_threads(other, dataset, 2, kSteps).variables) > 1e-3);
}

TEST_CASE("one_device and mirrored with one replica are the same computation") {
  JobSpec spec = with_batch(small_spec(), 12);
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto mirrored = train_with_threads(spec, dataset, 1, kSteps);
  spec.strategy.kind = "one_device";
  const auto one_device = train_with_threads(spec, dataset, 1, kSteps);
  CHECK(relative_difference(mirrored.variables, one_device.variables) == 0);
}

TEST_CASE("batch_norm's moving statistics are the mean over the replicas") {
  JobSpec spec = with_batch(small_spec(), 12);
  spec.model.kind = "layers";
  spec.model.layers = {layer("flatten"), dense(8), layer("batch_norm"), layer("relu"), dense(5)};
  const Dataset dataset = load_dataset(spec.data, 1);
  // train_with_threads requires all ranks to agree bit by bit, buffers included
  const auto two = train_with_threads(spec, dataset, 2, kSteps);
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kSteps);
  int compared = 0;
  for (size_t i = 0; i < two.variables.size(); ++i) {
    if (two.variables[i].first.find("running_mean") == std::string::npos) continue;
    ++compared;
    // The mean over the shares' means is the mean over the batch, up to the weights' drift.
    CHECK(at::allclose(two.variables[i].second, one.variables[i].second, 0.05, 0.05));
    CHECK(two.variables[i].second.abs().max().item<double>() > 1e-3);
  }
  CHECK(compared == 1);
}

}  // namespace
}  // namespace dtrain
