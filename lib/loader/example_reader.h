// Reads examples as micro-batches of a replica, augmented.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "augment/augmenter.h"
#include "data/example_source.h"
#include "loader/loader_options.h"
#include "loader/micro_batch.h"

namespace dtrain {

// For Assembly::kOnHost and kUploaded. Any number of threads may use one at once.
class ExampleReader {
 public:
  ExampleReader(ExampleSourcePtr source, const LoaderOptions& options);

  // The micro-batch of `examples`, indices of the source, in epoch `epoch`: in memory that a device can read
  // while the CPU continues.
  MicroBatch read(int64_t epoch, std::span<const int64_t> examples) const;

 private:
  ExampleSlot slot_of(int64_t count, at::ScalarType dtype, bool for_device) const;
  ExampleSlot read_augmented(int64_t epoch, std::span<const int64_t> examples) const;
  void for_each(int64_t count, const std::function<void(int64_t)>& work) const;

  const ExampleSourcePtr source_;
  const LoaderOptions options_;
  at::Tensor values_;  // by channel and pixel value; undefined: the device normalises
  std::optional<Augmenter> augmenter_;
};

}  // namespace dtrain
