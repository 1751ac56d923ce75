// The loader with augmentation: the pixels depend on the seed, the epoch and the example alone.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <memory>

#include "augment/augmenter.h"
#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "loader/batches.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

constexpr int64_t kExamples = 37;

// Pictures of noise whose labels are their indices, large enough for several threads.
StoredExamples noisy_pictures() {
  at::manual_seed(3);
  return {at::randint(0, 256, {kExamples, 3, 96, 80}, at::kByte), at::arange(kExamples, at::kLong)};
}

AugmentSpec augmentation(const std::string& kind) { return {.kind = kind}; }

// Global batches of 10, so that the last one of an epoch has 7 examples.
LoaderOptions augmenting_options(int64_t replicas = 1, int64_t rank = 0, int64_t accumulate_steps = 1) {
  LoaderOptions options;
  options.plan.global = 10;
  options.plan.parts = replicas;
  options.plan.accumulate_steps = accumulate_steps;
  options.plan.per_replica = (10 + replicas * accumulate_steps - 1) / (replicas * accumulate_steps);
  options.own = {rank, rank + 1};
  options.seed = 5;
  options.format.normalisation = {{0.4, 0.5, 0.6}, {0.3, 0.2, 0.1}};
  options.augment = {augmentation("random_resized_crop"), augmentation("flip"), augmentation("random_crop")};
  return options;
}

// What an epoch shows of each example, by its label.
using Shown = std::map<int64_t, at::Tensor>;

void add_shown(const Share& share, Shown& shown) {
  for (const MicroBatch& micro_batch : share.micro_batches) {
    const Batch batch = micro_batch.assemble();
    for (int64_t row = 0; row < batch.size(); ++row)
      shown[batch.targets[row].item<int64_t>()] = batch.inputs[row].contiguous();
  }
}

Shown shown_by(const LoaderOptions& options, int64_t epoch = 2, int64_t first_step = 0) {
  ShareLoader loader(make_memory_source(noisy_pictures()), options);
  loader.start_epoch(epoch, first_step);
  Shown shown;
  while (const auto share = loader.next()) add_shown(*share, shown);
  return shown;
}

// How many of the examples in `some` are shown with the very same numbers in `all`.
int64_t same_in(const Shown& some, const Shown& all) {
  int64_t same = 0;
  for (const auto& [label, input] : some) same += all.at(label).equal(input) ? 1 : 0;
  return same;
}

TEST_CASE("augmented examples have the same bits with any threads, prefetch, replicas and micro-batches") {
  const Shown all = shown_by(augmenting_options());
  REQUIRE(all.size() == kExamples);
  CHECK(same_in(shown_by(augmenting_options()), all) == kExamples);
  for (const int64_t threads : {1, 2, 8}) {
    for (const int64_t prefetch : {0, 3}) {
      LoaderOptions options = augmenting_options();
      options.threads = threads;
      options.prefetch = prefetch;
      CHECK(same_in(shown_by(options), all) == kExamples);
    }
  }
  for (const int64_t replicas : {2, 3, 12}) {  // 12: some shares are empty
    int64_t same = 0;
    for (int64_t rank = 0; rank < replicas; ++rank)
      same += same_in(shown_by(augmenting_options(replicas, rank)), all);
    CHECK(same == kExamples);
  }
  CHECK(same_in(shown_by(augmenting_options(1, 0, 4)), all) == kExamples);
}

TEST_CASE("an epoch that goes on at a step shows what it would have shown") {
  const Shown all = shown_by(augmenting_options());
  for (const int64_t step : {1, 3}) {
    const Shown rest = shown_by(augmenting_options(), 2, step);
    CHECK(std::ssize(rest) == kExamples - 10 * step);
    CHECK(same_in(rest, all) == std::ssize(rest));
  }
  LoaderOptions ahead = augmenting_options();
  ahead.prefetch = 2;
  ShareLoader loader(make_memory_source(noisy_pictures()), ahead);
  loader.start_epoch(0);
  loader.next();
  loader.start_epoch(2, 1);  // what was prepared of epoch 0 is forgotten
  Shown rest;
  while (const auto share = loader.next()) add_shown(*share, rest);
  CHECK(same_in(rest, all) == 27);
}

TEST_CASE("each epoch and seed shows other pixels, and none the stored ones") {
  const Shown all = shown_by(augmenting_options());
  CHECK(same_in(shown_by(augmenting_options(), 3), all) == 0);
  LoaderOptions other = augmenting_options();
  other.seed = 6;
  CHECK(same_in(shown_by(other), all) == 0);
  other.augment.clear();
  CHECK(same_in(shown_by(other), all) == 0);
}

TEST_CASE("a device that normalises gets the pixels that the host would normalise") {
  const Shown all = shown_by(augmenting_options());
  LoaderOptions uploaded = augmenting_options();
  uploaded.assembly = Assembly::kUploaded;
  const Shown sent = shown_by(uploaded);
  for (const auto& [label, input] : sent) CHECK(at::allclose(input, all.at(label), 1e-5, 1e-5));
  uploaded.assembly = Assembly::kResident;
  CHECK_THAT(
      error_of([&] { ShareLoader loader(make_memory_source(noisy_pictures()), uploaded); }, ExitCode::kBug),
      ContainsSubstring("resident examples are not augmented"));
  const StoredExamples numbers{at::zeros({4, 3}), at::zeros({4}, at::kLong)};
  CHECK_THAT(error_of([&] { ShareLoader loader(make_memory_source(numbers), augmenting_options()); },
                      ExitCode::kBug),
             ContainsSubstring("only pictures are augmented"));
}

TEST_CASE("what is shown is the augmented picture, normalised") {
  const StoredExamples pictures = noisy_pictures();
  LoaderOptions options = augmenting_options();
  options.format.dtype = at::kDouble;
  const Shown all = shown_by(options);
  const Augmenter augmenter(options.augment, {3, 96, 80}, options.seed);
  for (const auto& [label, input] : all) {
    at::Tensor pixels = pictures.inputs[label].clone();
    augmenter.change({2, label}, pixels.mutable_data_ptr<uint8_t>());
    const at::Tensor mean = at::tensor({0.4, 0.5, 0.6}, at::kDouble).view({3, 1, 1});
    const at::Tensor deviation = at::tensor({0.3, 0.2, 0.1}, at::kDouble).view({3, 1, 1});
    CHECK(at::allclose(input, (pixels.to(at::kDouble) / 255 - mean) / deviation, 1e-12, 1e-12));
  }
}

LoaderOptions mixing_options(int64_t replicas = 1, int64_t rank = 0, int64_t accumulate_steps = 1) {
  LoaderOptions options = augmenting_options(replicas, rank, accumulate_steps);
  options.augment.push_back(augmentation("mixup"));
  options.augment.push_back(augmentation("cutmix"));
  return options;
}

// What an epoch shows in its order: inputs, both targets and shares.
struct MixedEpoch {
  at::Tensor inputs, targets, other_targets, shares;
  std::vector<int64_t> indices;

  bool equal(const MixedEpoch& other) const {
    return inputs.equal(other.inputs) && targets.equal(other.targets) &&
           other_targets.equal(other.other_targets) && shares.equal(other.shares);
  }
};

MixedEpoch mixed_epoch(const std::vector<LoaderOptions>& replicas) {
  std::vector<std::unique_ptr<ShareLoader>> loaders;
  for (const LoaderOptions& options : replicas) {
    loaders.push_back(std::make_unique<ShareLoader>(make_memory_source(noisy_pictures()), options));
    loaders.back()->start_epoch(2);
  }
  std::vector<at::Tensor> inputs, targets, other_targets, shares;
  MixedEpoch epoch;
  for (int64_t step = 0; step < loaders[0]->steps_per_epoch(); ++step) {
    for (const auto& loader : loaders) {
      const auto share = loader->next();
      epoch.indices.insert(epoch.indices.end(), share->indices.begin(), share->indices.end());
      for (const MicroBatch& micro_batch : share->micro_batches) {
        const Batch batch = micro_batch.assemble();
        REQUIRE(batch.is_mixed());
        inputs.push_back(batch.inputs);
        targets.push_back(batch.targets);
        other_targets.push_back(batch.other_targets);
        shares.push_back(batch.shares);
      }
    }
  }
  epoch.inputs = at::cat(inputs);
  epoch.targets = at::cat(targets);
  epoch.other_targets = at::cat(other_targets);
  epoch.shares = at::cat(shares);
  return epoch;
}

TEST_CASE("examples are mixed over the global batch: alike with any replicas, micro-batches and threads") {
  const MixedEpoch one = mixed_epoch({mixing_options()});
  REQUIRE(one.targets.size(0) == kExamples);
  for (const int64_t replicas : {2, 3, 12}) {  // 12: some shares are empty
    std::vector<LoaderOptions> options;
    for (int64_t rank = 0; rank < replicas; ++rank) {
      options.push_back(mixing_options(replicas, rank));
      options.back().threads = rank + 1;
      options.back().prefetch = rank % 2;
    }
    CHECK(mixed_epoch(options).equal(one));
  }
  CHECK(mixed_epoch({mixing_options(1, 0, 4)}).equal(one));

  // Partners are of the same step, the heavier class comes first, and most examples have another's class too.
  const auto step_of = [&](int64_t label) {
    return (std::find(one.indices.begin(), one.indices.end(), label) - one.indices.begin()) / 10;
  };
  int64_t mixed = 0;
  for (int64_t row = 0; row < kExamples; ++row) {
    const auto target = one.targets[row].item<int64_t>(), other = one.other_targets[row].item<int64_t>();
    const int64_t own = one.indices[static_cast<size_t>(row)];
    CHECK((own == target || own == other));
    CHECK(step_of(target) == row / 10);
    CHECK(step_of(other) == row / 10);
    mixed += target != other ? 1 : 0;
  }
  CHECK(mixed > 25);
  CHECK(one.shares.min().item<double>() >= 0.5);
  CHECK(one.shares.max().item<double>() <= 1);
}

TEST_CASE("a mixed example is made of its own and its partner's augmented pictures, as its shares say") {
  LoaderOptions options = mixing_options();
  options.augment.pop_back();
  options.format.dtype = at::kDouble;
  LoaderOptions alone = options;
  alone.augment.pop_back();
  const Shown pictures = shown_by(alone);
  const MixedEpoch epoch = mixed_epoch({options});
  const at::Tensor level = at::tensor({0.3, 0.2, 0.1}, at::kDouble).reciprocal().div(255).view({3, 1, 1});
  for (int64_t row = 0; row < kExamples; ++row) {
    const double share = epoch.shares[row].item<double>();
    const at::Tensor expected = share * pictures.at(epoch.targets[row].item<int64_t>()) +
                                (1 - share) * pictures.at(epoch.other_targets[row].item<int64_t>());
    CHECK(((epoch.inputs[row] - expected).abs() / level).max().item<double>() < 0.501);  // rounded
  }
}

TEST_CASE("mixed micro-batches can be copied, filled and sent to a device") {
  for (const Assembly assembly : {Assembly::kOnHost, Assembly::kUploaded}) {
    LoaderOptions options = mixing_options();
    options.assembly = assembly;
    ShareLoader loader(make_memory_source(noisy_pictures()), options);
    loader.start_epoch(0);
    const Share first = *loader.next(), second = *loader.next();
    MicroBatch copy = first.micro_batches[0].copy();
    const Batch before = copy.assemble(), wanted = second.micro_batches[0].assemble();
    const at::Tensor shares = first.micro_batches[0].assemble().shares.clone();
    CHECK(before.inputs.equal(first.micro_batches[0].assemble().inputs));
    copy.copy_from(second.micro_batches[0]);
    const Batch after = copy.assemble();
    CHECK(after.inputs.equal(wanted.inputs));
    CHECK(after.targets.equal(wanted.targets));
    CHECK(after.other_targets.equal(wanted.other_targets));
    CHECK(after.shares.equal(wanted.shares));
    CHECK(first.micro_batches[0].assemble().shares.equal(shares));  // the copy had memory of its own
    if (assembly == Assembly::kUploaded)
      CHECK(second.micro_batches[0].to(at::kCPU).assemble().shares.equal(wanted.shares));
  }
}

// torchvision scales uint8 pictures by this very function of LibTorch, in whole numbers, rounded twice.
TEST_CASE("a scaled box is LibTorch's, antialiased, to one level") {
  at::manual_seed(1);
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{16, 12}, {64, 64}, {7, 31}}) {
    const at::Tensor picture = at::randint(0, 256, {1, 3, height, width}, at::kByte);
    RandomGenerator random(4);
    for (int i = 0; i < 20; ++i) {
      const PictureShape shape{3, height, width};
      const Box box = draw_box(random, shape, {0.08, 1}, {0.5, 2}).value_or(middle_box(shape, {0.5, 2}));
      at::Tensor own = picture.clone(), spare = at::empty_like(own);
      Picture pixels{own.mutable_data_ptr<uint8_t>(), spare.mutable_data_ptr<uint8_t>(), shape};
      scale_box_up(pixels, box);
      const at::Tensor cut =
          picture.narrow(2, box.top, box.height).narrow(3, box.left, box.width).contiguous();
      const at::Tensor theirs = at::_upsample_bilinear2d_aa(cut, {height, width}, /*align_corners=*/false);
      const at::Tensor exact =
          at::upsample_bilinear2d(cut.to(at::kDouble), {height, width}, /*align_corners=*/false);
      CHECK((spare.to(at::kInt) - theirs.to(at::kInt)).abs().max().item<int64_t>() <= 1);
      CHECK((spare.to(at::kDouble) - exact).abs().max().item<double>() < 0.501);  // rounded once
    }
  }
}

}  // namespace
