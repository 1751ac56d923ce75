// Reads examples as micro-batches of a replica, augmented.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "augment/augmenter.h"
#include "data/example_source.h"
#include "loader/loader_options.h"
#include "loader/micro_batch.h"

namespace dtrain {

// Which examples a micro-batch has.
struct ExamplePlace {
  int64_t epoch = 0;
  std::span<const int64_t> step;     // the examples of the step, over all replicas: indices of the source
  std::span<const int64_t> repeats;  // how often the epoch has had each of them before; empty: never
  Range own;                         // those of the micro-batch, positions in `step`

  Showing at(int64_t position) const;
};

// For Assembly::kOnHost and kUploaded. Any number of threads may use one at once.
class ExampleReader {
 public:
  ExampleReader(ExampleSourcePtr source, const LoaderOptions& options);

  // The micro-batch at `place`, in memory that a device can read while the CPU continues.
  MicroBatch read(const ExamplePlace& place) const;
  // The examples that it reads for that from the source: also partners of mixed ones.
  std::vector<int64_t> needed_for(const ExamplePlace& place) const;

 private:
  struct Partners;

  ExampleSlot slot_of(int64_t count, at::ScalarType dtype) const;
  Batch read_augmented(const ExamplePlace& place) const;
  Batch read_mixed(const ExamplePlace& place) const;
  Partners partners_of(const ExamplePlace& place) const;
  at::Tensor numbers_for(const at::Tensor& pixels) const;
  void normalise(const at::Tensor& pixels, int64_t row, const at::Tensor& numbers) const;
  void for_each(int64_t count, const std::function<void(int64_t index)>& work) const;

  const ExampleSourcePtr source_;
  const LoaderOptions options_;
  at::Tensor values_;  // by channel and pixel value; undefined: the device normalises
  std::optional<Augmenter> augmenter_;
};

}  // namespace dtrain
