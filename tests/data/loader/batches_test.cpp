#include "loader/batches.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "data/split.h"
#include "loader/example_order.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

// Images whose pixels tell them apart and whose labels are their indices.
StoredExamples numbered_images(int64_t count) {
  const at::Tensor pixels = at::arange(count * 12, at::kLong).mul_(7919).remainder_(256);
  return {pixels.to(at::kByte).view({count, 1, 4, 3}), at::arange(count, at::kLong)};
}

LoaderOptions options_for(int64_t global, int64_t replicas = 1, int64_t rank = 0,
                          int64_t accumulate_steps = 1) {
  LoaderOptions options;
  options.plan.global = global;
  options.plan.parts = replicas;
  options.plan.accumulate_steps = accumulate_steps;
  options.plan.per_replica = global / (replicas * accumulate_steps);
  options.own = {rank, rank + 1};
  options.seed = 5;
  options.format.normalisation = {{0.1307}, {0.3081}};
  return options;
}

// The ways in which a device assembles batches, and whether it holds numbers.
const std::vector<std::pair<Assembly, bool>> kOnDevice = {
    {Assembly::kResident, false}, {Assembly::kResident, true}, {Assembly::kUploaded, false}};

// The shares that are left of an epoch.
std::vector<Share> rest_of(ShareLoader& loader) {
  std::vector<Share> shares;
  while (auto share = loader.next()) shares.push_back(std::move(*share));
  return shares;
}

std::vector<Share> epoch_of(const StoredExamples& images, const LoaderOptions& options, int64_t epoch = 0,
                            int64_t first_step = 0) {
  ShareLoader loader(make_memory_source(images), options);
  loader.start_epoch(epoch, first_step);
  return rest_of(loader);
}

std::vector<int64_t> targets_of(const Share& share) {
  std::vector<int64_t> all;
  for (const MicroBatch& micro_batch : share.micro_batches) {
    const Batch batch = micro_batch.assemble();
    const int64_t* targets = batch.targets.const_data_ptr<int64_t>();
    all.insert(all.end(), targets, targets + batch.size());
  }
  return all;
}

at::Tensor inputs_of(const Share& share) {
  std::vector<at::Tensor> all = {at::empty({0, 1, 4, 3})};
  for (const MicroBatch& batch : share.micro_batches) all.push_back(batch.assemble().inputs);
  return at::cat(all);
}

bool same(const std::vector<Share>& a, const std::vector<Share>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].step != b[i].step || a[i].global_examples != b[i].global_examples) return false;
    if (targets_of(a[i]) != targets_of(b[i]) || !inputs_of(a[i]).equal(inputs_of(b[i]))) return false;
  }
  return true;
}

// Takes the place of LibTorch's allocator, and refuses big blocks while told to.
class RefusingAllocator : public at::Allocator {
 public:
  RefusingAllocator() : original_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 1); }
  ~RefusingAllocator() override { c10::SetCPUAllocator(original_, 1); }
  at::DataPtr allocate(size_t bytes) override {
    if (bytes >= limit) throw std::bad_alloc();
    return original_->allocate(bytes);
  }
  at::DeleterFnPtr raw_deleter() const override { return original_->raw_deleter(); }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
  std::atomic<size_t> limit = SIZE_MAX;

 private:
  at::Allocator* original_;
};

}  // namespace

TEST_CASE("the replicas' shares of a step are the step of a single replica, in order") {
  const int64_t kGlobal = 60;
  for (const int64_t examples : {180, 150, 62, 60, 3, 1}) {
    const StoredExamples images = numbered_images(examples);
    const std::vector<Share> whole = epoch_of(images, options_for(kGlobal), 2);
    REQUIRE(static_cast<int64_t>(whole.size()) == (examples + kGlobal - 1) / kGlobal);
    for (const int64_t replicas : {1, 2, 3, 5}) {
      for (const int64_t accumulate_steps : {1, 2}) {
        INFO(examples << " examples, " << replicas << " replicas, " << accumulate_steps
                      << " accumulation steps");
        std::vector<std::vector<Share>> parts;
        for (int64_t rank = 0; rank < replicas; ++rank) {
          parts.push_back(epoch_of(images, options_for(kGlobal, replicas, rank, accumulate_steps), 2));
          REQUIRE(parts.back().size() == whole.size());
        }
        for (size_t step = 0; step < whole.size(); ++step) {
          std::vector<int64_t> targets;
          std::vector<at::Tensor> inputs;
          for (const auto& part : parts) {
            CHECK(part[step].step == static_cast<int64_t>(step));
            CHECK(part[step].global_examples == whole[step].global_examples);
            const auto own = targets_of(part[step]);
            targets.insert(targets.end(), own.begin(), own.end());
            inputs.push_back(inputs_of(part[step]));
            CHECK(part[step].micro_batches.size() == parts.front()[step].micro_batches.size());
            for (const MicroBatch& micro_batch : part[step].micro_batches) {
              const Batch batch = micro_batch.assemble();
              CHECK(batch.size() <= kGlobal / (replicas * accumulate_steps));
              CHECK(batch.inputs.size(0) == batch.size());
            }
          }
          CHECK(targets == targets_of(whole[step]));
          CHECK(at::cat(inputs).equal(inputs_of(whole[step])));
          CHECK(static_cast<int64_t>(targets.size()) == whole[step].global_examples);
        }
      }
    }
  }
}

TEST_CASE("an epoch holds every example once") {
  const StoredExamples images = numbered_images(101);
  std::multiset<int64_t> seen;
  for (const Share& share : epoch_of(images, options_for(16))) {
    const auto targets = targets_of(share);
    seen.insert(targets.begin(), targets.end());
  }
  CHECK(seen.size() == 101);
  CHECK(std::set<int64_t>(seen.begin(), seen.end()).size() == 101);
}

TEST_CASE("more replicas than examples: the last have nothing and still take part in the step") {
  const StoredExamples images = numbered_images(3);
  for (int64_t rank = 0; rank < 5; ++rank) {
    const std::vector<Share> shares = epoch_of(images, options_for(10, 5, rank));
    REQUIRE(shares.size() == 1);
    CHECK(shares[0].global_examples == 3);
    REQUIRE(shares[0].micro_batches.size() == 1);
    CHECK(shares[0].micro_batches[0].size() == (rank < 3 ? 1 : 0));
    CHECK(shares[0].micro_batches[0].assemble().inputs.sizes().slice(1) == at::IntArrayRef({1, 4, 3}));
  }
}

TEST_CASE("a share is cut into micro-batches of at most per_replica") {
  const StoredExamples images = numbered_images(31);
  const std::vector<Share> shares = epoch_of(images, options_for(24, 2, 0, 3));  // 4 a micro-batch
  const auto sizes = [](const Share& share) {
    std::vector<int64_t> all;
    for (const MicroBatch& batch : share.micro_batches) all.push_back(batch.size());
    return all;
  };
  REQUIRE(shares.size() == 2);
  CHECK(sizes(shares[0]) == std::vector<int64_t>{4, 4, 4});
  CHECK(shares[1].global_examples == 7);
  CHECK(sizes(shares[1]) == std::vector<int64_t>{4});
}

TEST_CASE("a device that assembles batches itself comes to the same examples and numbers") {
  const StoredExamples images = numbered_images(31);
  LoaderOptions options = options_for(24, 2, 1, 3);
  const std::vector<Share> host = epoch_of(images, options, 3, 1);
  for (const auto& [assembly, holds_numbers] : kOnDevice) {
    for (const int64_t prefetch : {0, 2}) {
      options.assembly = assembly;
      options.holds_numbers = holds_numbers;
      options.prefetch = prefetch;
      const std::vector<Share> device = epoch_of(images, options, 3, 1);
      REQUIRE(device.size() == host.size());
      for (size_t step = 0; step < host.size(); ++step) {
        CHECK(device[step].indices == host[step].indices);
        CHECK(targets_of(device[step]) == targets_of(host[step]));
        CHECK(at::allclose(inputs_of(device[step]), inputs_of(host[step]), 1e-6, 1e-6));
      }
    }
  }
  const at::Tensor plain = inputs_of(epoch_of(images, options)[0]);
  options.format.channels_last = true;
  options.assembly = Assembly::kOnHost;
  for (size_t i = 0; i <= kOnDevice.size(); ++i) {
    if (i > 0) std::tie(options.assembly, options.holds_numbers) = kOnDevice[i - 1];
    const Share share = epoch_of(images, options)[0];
    CHECK(share.micro_batches[0].assemble().inputs.strides() == at::IntArrayRef({12, 1, 3, 1}));
    CHECK(at::allclose(inputs_of(share), plain, 1e-6, 1e-6));
  }
}

TEST_CASE("a selection is loaded like a source of its examples alone, wherever batches are assembled") {
  const StoredExamples all = numbered_images(31);
  const std::vector<int64_t> some = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 30};
  const at::Tensor rows = at::tensor(some, at::kLong);
  const StoredExamples alone = {all.inputs.index_select(0, rows), all.targets.index_select(0, rows)};
  LoaderOptions options = options_for(4, 2, 1);
  for (const Assembly assembly : {Assembly::kOnHost, Assembly::kResident, Assembly::kUploaded}) {
    options.assembly = assembly;
    ShareLoader loader(make_selection(make_memory_source(all), some), options);
    loader.start_epoch(3);
    CHECK(same(rest_of(loader), epoch_of(alone, options, 3)));
  }
}

TEST_CASE("a copy of a micro-batch has memory of its own, and takes over another's examples") {
  const StoredExamples images = numbered_images(20);
  for (const Assembly assembly : {Assembly::kOnHost, Assembly::kResident, Assembly::kUploaded}) {
    LoaderOptions options = options_for(10);
    options.assembly = assembly;
    const std::vector<Share> shares = epoch_of(images, options);
    const MicroBatch& first = shares[0].micro_batches[0];
    const MicroBatch& second = shares[1].micro_batches[0];
    MicroBatch copy = first.copy();
    CHECK(copy.size() == 10);
    CHECK(copy.assemble().inputs.equal(first.assemble().inputs));
    const at::Tensor before = first.assemble().targets.clone();
    copy.copy_from(second);
    CHECK(copy.assemble().inputs.equal(second.assemble().inputs));
    CHECK(copy.assemble().targets.equal(second.assemble().targets));
    CHECK(first.assemble().targets.equal(before));
  }
}

TEST_CASE("the order is decided by seed and epoch") {
  const std::vector<int64_t> order = epoch_order(1000, true, 5, 0);
  CHECK(order == epoch_order(1000, true, 5, 0));
  CHECK(order != epoch_order(1000, true, 5, 1));
  CHECK(order != epoch_order(1000, true, 6, 0));
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == 1000);
  CHECK(*std::max_element(order.begin(), order.end()) == 999);
  CHECK(epoch_order(0, true, 5, 0).empty());
  std::vector<int64_t> identity(1000);
  std::iota(identity.begin(), identity.end(), 0);
  CHECK(epoch_order(1000, false, 5, 3) == identity);

  const StoredExamples images = numbered_images(100);
  ShareLoader loader(make_memory_source(images), options_for(32));
  loader.start_epoch(0);
  const auto first = rest_of(loader);
  loader.start_epoch(1);
  const auto second = rest_of(loader);
  loader.start_epoch(0);
  CHECK(same(rest_of(loader), first));
  CHECK(same(epoch_of(images, options_for(32), 1), second));
  CHECK_FALSE(same(first, second));
  LoaderOptions unshuffled = options_for(100);
  unshuffled.shuffle = false;
  CHECK(targets_of(epoch_of(images, unshuffled, 4)[0])[99] == 99);
}

TEST_CASE("prefetching changes nothing but the time") {
  const StoredExamples images = numbered_images(150);
  LoaderOptions options = options_for(24, 2, 1, 3);
  options.prefetch = 0;
  const std::vector<Share> expected = epoch_of(images, options, 3);
  for (const int64_t prefetch : {1, 4, 1000}) {
    options.prefetch = prefetch;
    ShareLoader loader(make_memory_source(images), options);
    for (int repeat = 0; repeat < 20; ++repeat) {
      loader.start_epoch(3);
      CHECK(same(rest_of(loader), expected));  // compared at the end: no share was overwritten by a later one
      CHECK_FALSE(loader.next());
    }
  }
}

TEST_CASE("inputs equal (pixel / 255 - mean) / standard deviation computed by ATen, exactly") {
  const StoredExamples images{at::arange(512, at::kLong).remainder(256).to(at::kByte).view({2, 1, 16, 16}),
                              at::arange(2, at::kLong)};
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const Normalisation& by :
         {Normalisation{}, Normalisation{{0.1307}, {0.3081}}, Normalisation{{-3}, {1e-3}}}) {
      LoaderOptions options = options_for(2);
      options.shuffle = false;
      options.format.dtype = dtype;
      options.format.normalisation = by;
      const at::Tensor inputs = epoch_of(images, options)[0].micro_batches[0].assemble().inputs;
      CHECK(inputs.scalar_type() == dtype);
      CHECK(inputs.sizes() == at::IntArrayRef({2, 1, 16, 16}));
      CHECK(inputs.equal(images.inputs.to(dtype).div(255).sub(by.mean[0]).div(by.standard_deviation[0])));
    }
  }
}

TEST_CASE("each channel can have numbers of its own, on the host and where the device assembles") {
  const StoredExamples images{at::arange(384, at::kLong).remainder(256).to(at::kByte).view({2, 3, 8, 8}),
                              at::arange(2, at::kLong)};
  const std::vector<double> mean = {0.485, 0.456, 0.406}, deviation = {0.229, 0.224, 0.225};
  for (const int way : {0, 1, 2, 3}) {
    LoaderOptions options = options_for(2);
    options.shuffle = false;
    if (way > 0) std::tie(options.assembly, options.holds_numbers) = kOnDevice[static_cast<size_t>(way - 1)];
    options.format.normalisation = {mean, deviation};
    const at::Tensor inputs = epoch_of(images, options)[0].micro_batches[0].assemble().inputs;
    for (int64_t channel = 0; channel < 3; ++channel) {
      const auto at = static_cast<size_t>(channel);
      const at::Tensor pixels = images.inputs.select(1, channel).to(at::kFloat);
      CHECK(inputs.select(1, channel).equal(pixels.div(255).sub(mean[at]).div(deviation[at])));
    }
    options.format.normalisation = {{0.5}, deviation};
    const at::Tensor mixed = epoch_of(images, options)[0].micro_batches[0].assemble().inputs;
    CHECK(mixed.select(1, 2).equal(images.inputs.select(1, 2).to(at::kFloat).div(255).sub(0.5).div(0.225)));
  }
}

TEST_CASE("an epoch can start at a later step and be given up at any") {
  const StoredExamples images = numbered_images(100);
  for (const int64_t prefetch : {0, 3}) {
    LoaderOptions options = options_for(16);
    options.prefetch = prefetch;
    ShareLoader loader(make_memory_source(images), options);
    CHECK_FALSE(loader.next());  // no epoch yet
    loader.start_epoch(1);
    const std::vector<Share> whole = rest_of(loader);
    REQUIRE(loader.steps_per_epoch() == 7);
    REQUIRE(whole.size() == 7);
    for (int64_t first = 0; first <= 8; ++first) {
      loader.start_epoch(1, first);
      const auto from = whole.begin() + std::min<int64_t>(first, 7);
      CHECK(same(rest_of(loader), std::vector<Share>(from, whole.end())));
    }
    for (int64_t taken = 0; taken < 7; ++taken) {
      loader.start_epoch(0);
      for (int64_t i = 0; i < taken; ++i) CHECK(loader.next()->step == i);
      loader.start_epoch(1);
      CHECK(same(rest_of(loader), whole));
    }
  }
}

TEST_CASE("a loader can be destroyed at any moment, and its shares outlive it") {
  StoredExamples images = numbered_images(400);
  std::vector<Share> kept;
  for (int taken = 0; taken < 50; ++taken) {
    LoaderOptions options = options_for(8);
    options.prefetch = 4;
    ShareLoader loader(make_memory_source(images), options);
    loader.start_epoch(0);
    for (int i = 0; i < taken % 10; ++i) kept.push_back(*loader.next());
  }
  images = {};
  CHECK(targets_of(kept[0]) == targets_of(epoch_of(numbered_images(400), options_for(8))[0]));
}

TEST_CASE("drop_remainder leaves the partial step out") {
  const StoredExamples images = numbered_images(100);
  LoaderOptions options = options_for(16);
  options.plan.drop_remainder = true;
  ShareLoader loader(make_memory_source(images), options);
  CHECK(loader.steps_per_epoch() == 6);
  loader.start_epoch(0);
  const std::vector<Share> shares = rest_of(loader);
  REQUIRE(shares.size() == 6);
  for (const Share& share : shares) CHECK(share.global_examples == 16);
  options.plan.global = options.plan.per_replica = 101;
  CHECK(epoch_of(images, options).empty());
}

TEST_CASE("shares that are ready are counted, until the end of the epoch") {
  LoaderOptions options = options_for(4);
  options.prefetch = 3;
  ShareLoader loader(make_memory_source(numbered_images(20)), options);
  CHECK(loader.ready() == 0);
  loader.start_epoch(0);
  for (const int64_t ready : {3, 3, 3, 2, 1, 0}) {
    while (loader.ready() < ready) std::this_thread::yield();
    CHECK(loader.ready() == ready);
    CHECK(loader.next().has_value() == (ready > 0));
  }
}

TEST_CASE("an error in the prefetch thread is thrown by next(), and the loader can be used again") {
  const StoredExamples images = numbered_images(100);
  for (const int64_t prefetch : {0, 2}) {
    LoaderOptions options = options_for(100);
    options.prefetch = prefetch;
    ShareLoader loader(make_memory_source(images), options);
    RefusingAllocator allocator;
    allocator.limit = 100 * 12 * sizeof(float);
    loader.start_epoch(0);
    CHECK_THROWS_AS(loader.next(), std::bad_alloc);
    CHECK_THROWS_AS(loader.next(), std::bad_alloc);
    allocator.limit = SIZE_MAX;
    loader.start_epoch(0);
    CHECK(targets_of(*loader.next()).size() == 100);
    CHECK_FALSE(loader.next());
  }
}

// As a decoder makes it: the only row of a contiguous tensor may have any stride.
TEST_CASE("a single picture is read whole, whatever its stride is") {
  const StoredExamples images = numbered_images(1);
  const at::Tensor decoded = images.inputs.view({4, 3, 1}).permute({2, 0, 1}).unsqueeze(0);
  REQUIRE(decoded.is_contiguous());
  REQUIRE(decoded.stride(0) == 1);
  CHECK(same(epoch_of({decoded, images.targets}, options_for(1)), epoch_of(images, options_for(1))));
}

TEST_CASE("options that make no sense are refused") {
  const StoredExamples images = numbered_images(10);
  const auto message_for = [&](const StoredExamples& data, const LoaderOptions& options) {
    return error_of([&] { ShareLoader loader(make_memory_source(data), options); }, ExitCode::kBug);
  };
  CHECK_THAT(message_for(images, options_for(4, 2, 2)), ContainsSubstring("parts out of range"));
  CHECK_THAT(message_for(images, LoaderOptions{}), ContainsSubstring("plan must be resolved"));
  CHECK_THAT(message_for({}, options_for(4)), ContainsSubstring("no inputs"));
  CHECK_THAT(message_for({images.inputs.to(at::kInt), images.targets}, options_for(4)),
             ContainsSubstring("uint8"));
  CHECK_THAT(message_for({images.inputs.transpose(2, 3), images.targets}, options_for(4)),
             ContainsSubstring("contiguous"));
  CHECK_THAT(message_for({images.inputs, images.targets.narrow(0, 0, 9)}, options_for(4)),
             ContainsSubstring("as many"));
  LoaderOptions half = options_for(4);
  half.format.dtype = at::kHalf;
  CHECK_THAT(message_for(images, half), ContainsSubstring("float32 or float64"));
  CHECK_THAT(error_of([&] { ShareLoader loader(nullptr, options_for(4)); }, ExitCode::kBug),
             ContainsSubstring("no examples"));
}

TEST_CASE("a source is read by several threads at once, each into a slot of its own") {
  const StoredExamples images = numbered_images(500);
  const ExampleSourcePtr source = make_memory_source(images);
  CHECK(source->size() == 500);
  CHECK(source->shape() == at::IntArrayRef({1, 4, 3}));
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t begin = thread; begin + 7 < 500; begin += 4) {
        const std::vector<int64_t> indices = {begin, begin + 7, begin};
        ExampleSlot slot{at::empty({3, 1, 4, 3}, at::kByte), at::empty({3}, at::kLong)};
        source->read(indices, /*values=*/{}, slot);
        const at::Tensor rows = at::tensor(indices, at::kLong);
        if (slot.inputs.equal(images.inputs.index_select(0, rows)) && slot.targets.equal(rows)) ++right;
      }
    });
  }
  threads.clear();
  CHECK(right == 493);
}

TEST_CASE("only examples in memory can lie on a device as they are stored") {
  class Streamed : public ExampleSource {
   public:
    int64_t size() const override { return 8; }
    at::IntArrayRef shape() const override { return shape_; }
    void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
      REQUIRE(values.defined());
      slot.inputs.fill_(values[0][3]);
      for (size_t i = 0; i < indices.size(); ++i) slot.targets[static_cast<int64_t>(i)] = indices[i];
    }

   private:
    std::vector<int64_t> shape_ = {3, 2, 2};
  };
  const auto streamed = std::make_shared<Streamed>();
  LoaderOptions options = options_for(4);
  ShareLoader loader(streamed, options);
  loader.start_epoch(0);
  const std::vector<Share> shares = rest_of(loader);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].micro_batches[0].assemble().inputs.sizes() == at::IntArrayRef({4, 3, 2, 2}));
  std::vector<int64_t> all = targets_of(shares[0]);
  for (const int64_t target : targets_of(shares[1])) all.push_back(target);
  CHECK(all == epoch_order(8, true, 5, 0));
  options.assembly = Assembly::kResident;
  CHECK_THAT(error_of([&] { ShareLoader resident(streamed, options); }, ExitCode::kBug),
             ContainsSubstring("in memory"));
}
