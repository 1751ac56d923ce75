#include "data/dataset_readers.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "core/random.h"
#include "core/text.h"
#include "data/example_source.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

// A generated dataset larger than this in memory is refused.
constexpr int64_t kMaxSyntheticBytes = int64_t{8} << 30;

// Indices of the random streams that are derived from one seed.
enum Stream : uint64_t { kPrototypes, kTrain, kTest };

// Pixels are generated eight at a time, as one word.
constexpr int64_t kWordBytes = 8;

int64_t words_for(int64_t pixels) { return (pixels + kWordBytes - 1) / kWordBytes; }

// The mean of each of eight bytes, rounded down: the bits that both have, plus half of those that differ.
uint64_t mean_of_bytes(uint64_t a, uint64_t b) { return (a & b) + (((a ^ b) >> 1) & 0x7F7F7F7F7F7F7F7FULL); }

void write_image(const uint64_t* prototype, RandomGenerator& random, uint8_t* out, int64_t pixels) {
  for (int64_t at = 0; at < pixels; at += kWordBytes, ++prototype) {
    const uint64_t word = mean_of_bytes(*prototype, random.next());
    std::memcpy(out + at, &word, static_cast<size_t>(std::min(kWordBytes, pixels - at)));
  }
}

StoredExamples generate(const DatasetInfo& info, int64_t count, const std::vector<uint64_t>& prototypes,
                        uint64_t seed) {
  const std::vector<int64_t>& shape = info.example_shape;
  const int64_t pixels = shape[0] * shape[1] * shape[2];
  StoredExamples result{at::empty({count, shape[0], shape[1], shape[2]}, at::kByte),
                        at::empty({count}, at::kLong)};
  uint8_t* image = result.inputs.mutable_data_ptr<uint8_t>();
  int64_t* labels = result.targets.mutable_data_ptr<int64_t>();
  RandomGenerator random(seed);
  for (int64_t example = 0; example < count; ++example, image += pixels) {
    labels[example] = static_cast<int64_t>(random.below(static_cast<uint64_t>(info.classes)));
    write_image(prototypes.data() + labels[example] * words_for(pixels), random, image, pixels);
  }
  return result;
}

}  // namespace

void check_synthetic(const DatasetInfo& info) {
  const std::vector<int64_t>& shape = info.example_shape;
  const bool positive = shape.size() == 3 && info.classes > 0 && info.train_examples > 0 &&
                        info.test_examples > 0 &&
                        std::ranges::all_of(shape, [](int64_t side) { return side > 0; });
  if (!positive) {
    throw FieldError("data",
                     "synthetic needs a shape of three sizes above 0 and counts above 0, not shape [{}], {} "
                     "classes, {} training and {} test examples",
                     fmt::join(shape, ", "), info.classes, info.train_examples, info.test_examples);
  }
  // In floating point, where a product of such sizes cannot overflow.
  const double pixels =
      static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]);
  const double examples = static_cast<double>(info.train_examples) + static_cast<double>(info.test_examples);
  const double bytes =
      examples * (pixels + sizeof(int64_t)) + static_cast<double>(info.classes) * (pixels + kWordBytes);
  if (bytes > static_cast<double>(kMaxSyntheticBytes)) {
    throw FieldError("data",
                     "synthetic images [{}] for {} training and {} test examples take {:.4g} GiB, over the "
                     "limit of {}; lower data.train_examples, data.test_examples or data.shape",
                     fmt::join(shape, ", "), info.train_examples, info.test_examples, bytes / 0x1p30,
                     human_bytes(kMaxSyntheticBytes));
  }
}

Dataset generate_synthetic(const DatasetInfo& info, uint64_t seed) {
  check_synthetic(info);
  const int64_t pixels = info.example_shape[0] * info.example_shape[1] * info.example_shape[2];
  std::vector<uint64_t> prototypes(static_cast<size_t>(info.classes * words_for(pixels)));
  RandomGenerator random(derive_seed(seed, SeedPurpose::kSynthetic, kPrototypes));
  for (uint64_t& word : prototypes) word = random.next();
  const auto part = [&](int64_t count, Stream stream) {
    return make_memory_source(
        generate(info, count, prototypes, derive_seed(seed, SeedPurpose::kSynthetic, stream)));
  };
  return {info, part(info.train_examples, kTrain), part(info.test_examples, kTest)};
}

}  // namespace dtrain
