#include "data/dataset_readers.h"

#include <ATen/ops/cdist.h>
#include <ATen/ops/stack.h>

#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

DatasetInfo info_for(int64_t train_examples, std::vector<int64_t> shape = {1, 28, 28}, int64_t classes = 10) {
  DatasetInfo info;
  info.name = info.requested = "synthetic";
  info.source = "generated";
  info.example_shape = std::move(shape);
  info.classes = classes;
  info.train_examples = train_examples;
  info.test_examples = 200;
  return info;
}

}  // namespace

TEST_CASE("synthetic data is decided by the seed") {
  const Dataset first = generate_synthetic(info_for(300), 7);
  const Dataset again = generate_synthetic(info_for(300), 7);
  const Dataset other = generate_synthetic(info_for(300), 8);
  CHECK(stored_examples_of(*first.train).inputs.equal(stored_examples_of(*again.train).inputs));
  CHECK(stored_examples_of(*first.train).targets.equal(stored_examples_of(*again.train).targets));
  CHECK(stored_examples_of(*first.test).inputs.equal(stored_examples_of(*again.test).inputs));
  CHECK_FALSE(stored_examples_of(*first.train).inputs.equal(stored_examples_of(*other.train).inputs));
  CHECK_FALSE(stored_examples_of(*first.train).targets.equal(stored_examples_of(*other.train).targets));
  CHECK_FALSE(stored_examples_of(*first.train)
                  .targets.narrow(0, 0, 200)
                  .equal(stored_examples_of(*first.test).targets));

  // Fewer examples are the first of more.
  const Dataset fewer = generate_synthetic(info_for(100), 7);
  CHECK(stored_examples_of(*fewer.train)
            .inputs.equal(stored_examples_of(*first.train).inputs.narrow(0, 0, 100)));
  CHECK(stored_examples_of(*fewer.train)
            .targets.equal(stored_examples_of(*first.train).targets.narrow(0, 0, 100)));
}

TEST_CASE("synthetic data has the shape and classes asked for") {
  const Dataset dataset =
      generate_synthetic(info_for(500, {3, 5, 3}, 4), 1);  // 45 pixels: no whole number of words
  CHECK(stored_examples_of(*dataset.train).inputs.sizes() == at::IntArrayRef({500, 3, 5, 3}));
  CHECK(stored_examples_of(*dataset.train).inputs.scalar_type() == at::kByte);
  CHECK(stored_examples_of(*dataset.train).targets.min().item<int64_t>() == 0);
  CHECK(stored_examples_of(*dataset.train).targets.max().item<int64_t>() == 3);
  CHECK(stored_examples_of(*dataset.test).inputs.size(0) == 200);
  // No pixel is left unwritten: over 500 images each takes many values.
  CHECK(stored_examples_of(*dataset.train).inputs.to(at::kFloat).std(0).min().item<double>() > 20);
}

TEST_CASE("synthetic data can be learnt") {
  const Dataset dataset = generate_synthetic(info_for(2000), 3);
  const at::Tensor images = stored_examples_of(*dataset.train).inputs.flatten(1).to(at::kFloat);
  std::vector<at::Tensor> means;
  for (int64_t label = 0; label < 10; ++label) {
    means.push_back(images.index({stored_examples_of(*dataset.train).targets.eq(label)}).mean(0));
  }
  const at::Tensor nearest =
      at::cdist(stored_examples_of(*dataset.test).inputs.flatten(1).to(at::kFloat), at::stack(means))
          .argmin(1);
  CHECK(nearest.eq(stored_examples_of(*dataset.test).targets).to(at::kFloat).mean().item<double>() > 0.95);
  // But an image is not its prototype: those of one class differ.
  CHECK(images.index({stored_examples_of(*dataset.train).targets.eq(0)}).std(0).mean().item<double>() > 20);
}

TEST_CASE("too much synthetic data is refused before it is allocated") {
  const MemoryLimit limit(int64_t{64} << 20);
  const auto message_for = [](const DatasetInfo& info) {
    return error_of([&] { generate_synthetic(info, 0); }, ExitCode::kUsage);
  };
  CHECK_THAT(message_for(info_for(20'000'000)), ContainsSubstring("20000000 training"));
  CHECK_THAT(message_for(info_for(20'000'000)), ContainsSubstring("14.75 GiB, over the limit of 8.0 GiB"));
  const int64_t huge = int64_t{1} << 62;
  CHECK_THAT(message_for(info_for(huge, {huge, huge, huge})), ContainsSubstring("over the limit"));
  CHECK_THAT(message_for(info_for(10, {1, 28, 28}, huge)), ContainsSubstring("over the limit"));
  CHECK_THAT(message_for(info_for(0)), ContainsSubstring("counts above 0"));
  CHECK_THAT(message_for(info_for(10, {1, 28})), ContainsSubstring("a shape of three sizes"));
  CHECK_THAT(message_for(info_for(10, {1, -28, 28})), ContainsSubstring("shape [1, -28, 28]"));
}
