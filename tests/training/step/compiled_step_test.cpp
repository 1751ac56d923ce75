// Compiled steps against eager ones, and against each other over replicas.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "architectures/architectures.h"
#include "catch.h"
#include "comm/peer_failure.h"
#include "data/example_source.h"
#include "kernels/matrices.h"
#include "models/layer_specs.h"
#include "models/variables.h"
#include "optim/optimizer_specs.h"
#include "sanitized.h"
#include "spec/augment_kinds.h"
#include "step/step_execution.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

constexpr int kMany = few_if_sanitized(200, 60);

JobSpec compiled_spec() {
  JobSpec spec = small_spec();
  spec.train.step = "compiled";
  return spec;
}

// As in a replica: without denormal numbers, for which these small models take most of their time, and with
// the threads of one.
class AsInReplica {
 public:
  explicit AsInReplica(int threads = 1) : threads_(at::get_num_threads()) {
    at::globalContext().setFlushDenormal(true);
    at::set_num_threads(threads);
  }
  ~AsInReplica() {
    at::globalContext().setFlushDenormal(false);
    at::set_num_threads(threads_);
  }
  AsInReplica(const AsInReplica&) = delete;
  AsInReplica& operator=(const AsInReplica&) = delete;

 private:
  int threads_;
};

TrainingResult eager(JobSpec spec, const Dataset& dataset, int replicas, int steps) {
  spec.train.step = "eager";
  return train_with_threads(spec, dataset, replicas, steps);
}

void require_same_training(const TrainingResult& a, const TrainingResult& b, double tolerance) {
  REQUIRE(a.losses.size() == b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i) {
    INFO("step " << i);
    CHECK(a.losses[i] == Approx(b.losses[i]).epsilon(tolerance));
  }
  CHECK(relative_difference(a.variables, b.variables) < tolerance);
  CHECK(a.examples == b.examples);
  REQUIRE(a.evaluation_metrics.size() == b.evaluation_metrics.size());
  CHECK(a.evaluation_loss == Approx(b.evaluation_loss).epsilon(tolerance));
}

// Which takes some optimizers more steps than there are under the sanitizers.
void check_learns(const TrainingResult& training) {
  if (!kSanitized) CHECK(training.losses.back() < training.losses.front());
}

// The loss falls, and the same seed makes the same bits.
void require_trains_as_eager(const JobSpec& spec, const Dataset& dataset, int replicas, int steps,
                             double tolerance) {
  const auto compiled = train_with_threads(spec, dataset, replicas, steps);
  require_same_training(compiled, eager(spec, dataset, replicas, steps), tolerance);
  check_learns(compiled);
  const auto again = train_with_threads(spec, dataset, replicas, steps);
  CHECK(again.losses == compiled.losses);
  CHECK(relative_difference(again.variables, compiled.variables) == 0);
}

TEST_CASE("200 compiled steps are 200 eager ones, with each optimizer and the partial batches between") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 32);  // the last batch of an epoch has 24
  set_kind(spec.train.optimizer, GENERATE("sgd", "rmsprop", "adam", "adamw", "lars", "lamb"));
  const std::string& kind = spec.train.optimizer.kind;
  const bool scales = kind == "lars" || kind == "lamb";  // losses near 0 would be mostly rounding
  spec.train.optimizer.learning_rate = kind == "sgd" ? 0.05 : scales ? 0.0002 : 0.001;
  const Dataset dataset = load_dataset(spec.data, 1);
  require_trains_as_eager(spec, dataset, 1, kMany, 1e-4);
}

TEST_CASE("compiled steps with muon are eager ones, and the same bits each time") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 32);
  set_kind(spec.train.optimizer, "muon");
  spec.train.optimizer.learning_rate = 0.01;
  const Dataset dataset = load_dataset(spec.data, 1);
  require_trains_as_eager(spec, dataset, 1, 40, 1e-3);
}

TEST_CASE("200 compiled steps of a convolutional model are 200 eager ones") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 32);
  spec.model.kind = "cnn";
  spec.model.filters = {4};
  spec.model.hidden = {16};
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto compiled = train_with_threads(spec, dataset, 1, kMany);
  require_same_training(compiled, eager(spec, dataset, 1, kMany), 1e-4);
  check_learns(compiled);
  const auto many = train_with_threads(with_batch(spec, 16), dataset, 2, kMany);
  CHECK(relative_difference(many.variables, compiled.variables) < 1e-4);
}

TEST_CASE("200 compiled steps of models with norms and branches are 200 eager ones; with replicas, 100 are") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 16);
  spec.model.kind = "layers";
  const std::string model = GENERATE("images", "numbers in a row", "residual");
  INFO(model);
  if (model == "images") {  // without relu and maxima: rounding decides them where numbers are nearly equal
    spec.model.layers = {without_bias(conv2d(6)), layer("batch_norm"), layer("tanh"), conv2d(5, 2),
                         pool2d("avg_pool2d", 2), layer("flatten"),    dense(5)};
  } else if (model == "residual") {
    const LayerSpec conv = with_padding(conv2d(6, 3), "same");
    spec.model.layers = {
        named(conv, "in"), layer("batch_norm"),         layer("tanh"), conv,       layer("batch_norm"),
        add("in"),         named(layer("gelu"), "out"), conv,          add("out"), layer("global_avg_pool2d"),
        dense(5)};
  } else {
    spec.model.layers = {layer("flatten"), without_bias(dense(24)), layer("batch_norm"), layer("relu6"),
                         dense(16),        layer("layer_norm"),     layer("gelu"),       dense(5)};
  }
  spec.train.optimizer.learning_rate = 0.02;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto [replicas, steps] =
      GENERATE(table<int, int>({{1, kMany}, {2, kMany / 2}}));  // of 38 an epoch, or 19
  const auto compiled = train_with_threads(spec, dataset, replicas, steps);
  require_same_training(compiled, eager(spec, dataset, replicas, steps), 1e-4);
  check_learns(compiled);
}

TEST_CASE("the number of threads changes no bit of a compiled training") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  JobSpec spec = with_batch(compiled_spec(), 128);
  spec.model.kind = "layers";  // most of it wide enough to be shared out
  const int model = GENERATE(0, 1, 2, 3, 4, 5);
  spec.train.sync_batch_norm = model == 4;
  if (model == 0 || model == 4) {
    spec.model.layers = {layer("flatten"), dense(512),          layer("batch_norm"), layer("relu"),
                         dense(300),       layer("layer_norm"), layer("relu"),       dense(5)};
  } else if (model == 1) {
    spec.model.layers = {conv2d(8),     layer("relu"), pool2d("max_pool2d", 2), layer("flatten"), dense(512),
                         layer("relu"), dense(5)};
  } else if (model == 2) {
    spec.model.layers = {layer("flatten"), dense(500), layer("gelu"), dense(500),
                         layer("sigmoid"), dense(500), layer("tanh"), dense(5)};
  } else if (model == 5) {
    spec.model.layers = {conv2d(32, 1),
                         group_norm(8),
                         layer("tanh"),
                         conv2d(32, 1),
                         layer("batch_norm"),
                         layer("tanh"),
                         group_norm(4),
                         layer("global_avg_pool2d"),
                         dense(5)};
  } else {
    spec.model.layers = {named(layer("layer_norm"), "a"),
                         layer("flatten"),
                         named(dense(512), "b"),
                         layer("relu"),
                         dense(512),
                         add("b"),
                         dense(5)};
  }
  set_kind(spec.train.optimizer, "adam");
  const Dataset dataset = load_dataset(spec.data, 1);
  std::optional<TrainingResult> alone;
  for (const int threads : {1, 2, 3}) {
    INFO(to_string(instructions()) << ", " << threads << " threads");
    const AsInReplica as_in_replica(threads);
    // An epoch: an order of sums that depends on threads shows in the first step, or in a partial batch.
    const TrainingResult result = train_with_threads(spec, dataset, model == 4 ? 2 : 1, 5);
    if (!alone) alone = result;
    CHECK(relative_difference(result.variables, alone->variables) == 0);
    CHECK(result.evaluation_loss == alone->evaluation_loss);
    CHECK(result.losses == alone->losses);
  }
}

TEST_CASE("what a step does besides is the same in a compiled one") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 12, /*accumulate_steps=*/2);
  const std::string what = GENERATE("accumulation", "clipping", "smoothing", "weights of classes", "averages",
                                    "activations", "dropout", "mixup");
  INFO(what);
  if (what == "clipping") spec.train.clip_norm = 0.1;
  if (what == "smoothing") spec.train.label_smoothing = 0.2;
  if (what == "weights of classes") {
    spec.train.loss.class_weights.weights = {1, 3, 0.5, 1, 2};
    spec.train.optimizer.learning_rate /= 3;  // as the largest: longer steps make rounding grow
  }
  if (what == "averages") spec.train.ema.decay = 0.9;
  if (what == "activations") spec.model.activation = GENERATE("gelu", "silu", "tanh", "sigmoid");
  if (what == "dropout") spec.model.dropout = 0.3;
  if (what == "mixup") spec.data.augment = {{.kind = "mixup", .own = MixingFields{.alpha = 0.4}}};
  const Dataset dataset = load_dataset(spec.data, 1);
  at::manual_seed(3);
  const auto compiled = train_with_threads(spec, dataset, 1, 60);
  at::manual_seed(3);
  require_same_training(compiled, eager(spec, dataset, 1, 60), 1e-4);
}

// batch_norm of numbers in a row or of images, with the statistics of all replicas
JobSpec synchronised_spec(bool images) {
  JobSpec spec = compiled_spec();
  spec.model.kind = "layers";
  if (images) {
    spec.model.layers = {without_bias(conv2d(6)),    layer("batch_norm"), layer("tanh"), conv2d(8, 2),
                         layer("global_avg_pool2d"), layer("batch_norm"), dense(5)};
  } else {
    spec.model.layers = {layer("flatten"), without_bias(dense(24)), layer("batch_norm"), layer("tanh"),
                         dense(5)};
  }
  spec.train.optimizer.learning_rate = 0.02;
  spec.train.sync_batch_norm = true;
  return spec;
}

TEST_CASE("compiled replicas equal one with the whole batch, however they communicate") {
  const AsInReplica as_in_replica;
  const std::string model = GENERATE("plain", "batch_norm", "batch_norm of images");
  JobSpec spec = model == "plain" ? compiled_spec() : synchronised_spec(model == "batch_norm of images");
  spec.data.train_examples = GENERATE(101, 49);  // of global batches of 24: 5 and 1 are left
  const int replicas = GENERATE(2, 3);
  const std::string how = GENERATE("gloo", "shared_memory", "central_storage", "hosts");
  INFO(model);
  INFO(how << ", " << replicas << " replicas, " << *spec.data.train_examples << " examples");
  const Dataset dataset = load_dataset(spec.data, 1);
  constexpr int kStepsEach = 12;  // of 5 an epoch, or 3
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kStepsEach);
  JobSpec shared = with_batch(spec, 24 / replicas);
  if (how == "hosts") {
    for (int host = 0; host < replicas; ++host)
      shared.hosts.push_back(std::string(1, static_cast<char>('a' + host)));
  } else if (how == "central_storage") {
    shared.strategy.kind = how;
  } else {
    shared.strategy.communication = how;
  }
  const auto many = train_with_threads(shared, dataset, replicas, kStepsEach);
  CHECK(relative_difference(one.variables, many.variables) < 1e-5);
  CHECK(one.examples == many.examples);
  CHECK(many.evaluation_loss == Approx(one.evaluation_loss).epsilon(1e-5));
}

TEST_CASE("200 compiled steps with synchronised batch_norm are 200 eager ones; of several passes, 50 are") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(synchronised_spec(GENERATE(false, true)), 8);
  spec.data.train_examples = 53;
  int steps = kMany;  // of 4 an epoch
  SECTION("of one pass") {}
  SECTION("of several") {  // in the last step of an epoch, one replica has 3 examples, and the other 2 and 0
    spec = with_batch(spec, 2, /*accumulate_steps=*/6);
    steps = 50;  // of 3
  }
  const Dataset dataset = load_dataset(spec.data, 1);
  require_trains_as_eager(spec, dataset, 2, steps, 1e-4);
}

TEST_CASE(
    "a peer that leaves within the passes of a synchronised batch_norm is an error, within the timeout") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  const bool in_backward = GENERATE(false, true);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  constexpr int64_t kUnits = 8;
  const auto join = [&](int rank, const std::function<void(Strategy&, ProcessGroup&, StepClock&)>& body) {
    const LayerPlan plan =
        place_layers({layer("flatten"), dense(kUnits), layer("batch_norm"), dense(3)}, {1, 2, 2}, 3);
    StrategyParts parts;
    parts.model = build_model(plan, at::kFloat, 1);
    parts.train.sync_batch_norm = true;
    parts.group = make_group(communication, store, rank, 2, std::chrono::seconds(3));
    ProcessGroup& group = *parts.group;
    const auto clock = parts.clock;
    const auto strategy = make_strategy("mirrored", std::move(parts));
    strategy->place_variables();
    body(*strategy, group, *clock);
  };
  std::thread peer([&] {
    join(1, [&](Strategy&, ProcessGroup& group, StepClock&) {
      at::Tensor rows = at::zeros({2, 1 + 2 * kUnits}, at::kDouble);
      if (in_backward) group.all_reduce_sum(rows);  // what it has of the forward pass: no examples
    });
  });
  join(0, [&](Strategy& strategy, ProcessGroup&, StepClock& clock) {
    Share share;
    share.global_examples = 5;
    share.micro_batches = {MicroBatch({at::randn({5, 1, 2, 2}), at::zeros({5}, at::kLong)})};
    clock.start();
    CHECK(peer_failure_of([&] { strategy.train_step(share, {}); }) != "none");
    CHECK(clock.lap()[StepTime::kWaitForPeers] == 0);  // it did not come to the gradients
  });
  peer.join();
}

// The most that LibTorch has allocated for this thread at once.
class MostAllocated final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*place*/, int64_t bytes, size_t /*all*/, size_t /*reserved*/,
                         c10::Device /*device*/) override {
    now_ += bytes;
    most_ = std::max(most_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t bytes() const { return most_; }

 private:
  int64_t now_ = 0;
  int64_t most_ = 0;
};

// For compiled steps, or evaluations, of so many examples one after the other.
double most_allocated(const std::vector<int64_t>& sizes, bool trains) {
  const auto most = std::make_shared<MostAllocated>();
  const c10::DebugInfoGuard counted(c10::DebugInfoKind::PROFILER_STATE, most);
  const auto model = build_model(
      place_layers({layer("flatten"), dense(512), layer("tanh"), dense(5)}, {1, 4, 4}, 5), at::kFloat, 1);
  const auto group = make_single_group();
  StepClock clock;
  const auto reducer = group->make_gradient_reducer(model->parameters(), ReducerOptions(), clock);
  const TrainSpec train = compiled_spec().train;
  const auto objective = make_objective(train);
  const StepParts parts{*model, *group, *reducer, clock, train, *objective};
  const auto execution = make_step_execution(parts);
  for (const int64_t size : sizes) {
    Share share;
    share.global_examples = size;
    share.micro_batches = {MicroBatch({at::randn({size, 1, 4, 4}), at::zeros({size}, at::kLong)})};
    if (trains)
      execution->gradients(share, {});
    else
      execution->evaluate(share);
  }
  return static_cast<double>(most->bytes());
}

TEST_CASE("compiled steps and evaluations of several sizes take the memory of the largest") {
  const bool trains = GENERATE(true, false);
  const double one = most_allocated({512}, trains);
  REQUIRE(one > 512 * 512 * 4);
  CHECK(most_allocated({512, 511, 510, 512}, trains) < 1.1 * one);
  CHECK(most_allocated({510, 512, 511, 510}, trains) < 1.1 * one);
}

TEST_CASE("an eager training goes on with compiled steps and the other way round") {
  JobSpec spec = with_batch(compiled_spec(), 24);
  set_kind(spec.train.optimizer, "adam");
  spec.train.optimizer.learning_rate = 0.002;
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto whole = eager(spec, dataset, 1, 40);
  JobSpec first = spec, second = spec;
  (GENERATE(false, true) ? first : second).train.step = "eager";
  const auto begun = train_with_threads(first, dataset, 1, 20);
  const auto ended = train_with_threads(second, dataset, 1, 40, &begun.collected, 20);
  CHECK(relative_difference(whole.variables, ended.variables) < 1e-4);
}

TEST_CASE("a compiled step that is not finite has a loss that is not") {
  JobSpec spec = with_batch(compiled_spec(), 24);
  spec.train.optimizer.learning_rate = 1e30;
  const auto diverged = train_with_threads(spec, load_dataset(spec.data, 1), 1, 10);
  CHECK_FALSE(std::isfinite(diverged.losses.back()));
}

TEST_CASE("evaluations that flip and zoom average the probabilities of all views of the pictures") {
  const AsInReplica as_in_replica;
  JobSpec spec = with_batch(compiled_spec(), 12);
  spec.train.step = GENERATE("compiled", "eager");
  spec.train.channels_last = GENERATE(false, true) && spec.train.step == "eager";
  spec.strategy.communication = "shared_memory";
  const Dataset dataset = load_dataset(spec.data, 1);
  const auto plain = train_with_threads(spec, dataset, 2, 10);
  spec.evaluate.flip = true;
  spec.evaluate.zoom = 0.7;
  const auto flipped = train_with_threads(spec, dataset, 2, 10);

  const at::NoGradGuard no_grad;
  const LayerPlan plan = place_layers(expand_layers(spec.model, 5), dataset.info.example_shape, 5);
  const auto model = build_model(plan, at::kFloat, 1);
  write_variables(*model, flipped.variables);
  model->eval();
  const StoredExamples& examples = stored_examples_of(*dataset.test);
  const at::Tensor pictures = examples.inputs.to(at::kFloat) / 255;
  // 70 % of 8 pixels are 5.6, so 6; there is one more pixel on every side.
  const at::Tensor middle = at::upsample_bilinear2d(pictures.slice(2, 1, 7).slice(3, 1, 7), {8, 8}, false);
  at::Tensor mean = at::zeros({pictures.size(0), 5});
  for (const at::Tensor& view : {pictures, pictures.flip({3}), middle, middle.flip({3})})
    mean += model->forward(view).softmax(1) / 4;
  const at::Tensor labels = examples.targets.unsqueeze(1);
  CHECK(flipped.evaluation_loss == Approx(-mean.log().gather(1, labels).mean().item<double>()).epsilon(1e-5));
  CHECK(find_metric(flipped.evaluation_metrics, "accuracy").value() ==
        Approx(mean.argmax(1).eq(examples.targets).to(at::kDouble).mean().item<double>()));
  CHECK(std::abs(flipped.evaluation_loss - plain.evaluation_loss) > 1e-3);
  CHECK(flipped.losses == plain.losses);
}

}  // namespace
}  // namespace dtrain
