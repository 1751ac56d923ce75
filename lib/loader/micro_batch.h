// The examples of one forward pass, and how stored pixels are converted to its inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "spec/normalisation.h"

namespace dtrain {

struct Batch {
  at::Tensor inputs;   // [n, shape of an example] of the model's dtype, normalised
  at::Tensor targets;  // int64 [n], the classes; or [n, numbers to predict] of the model's dtype
  int64_t size() const { return targets.size(0); }
};

// What stored pixels are converted to.
struct PixelFormat {
  Normalisation normalisation;
  at::ScalarType dtype = at::kFloat;
  bool channels_last = false;  // memory layout only; the shape stays the same
};

// Holds only tensors, on the device that computes with them: assemble() is part of a step that a device can
// record and replay.
class MicroBatch {
 public:
  // From normalised examples.
  explicit MicroBatch(Batch batch) : images_(std::move(batch.inputs)), labels_(std::move(batch.targets)) {}
  // From stored examples: uint8 [n, channels, height, width] or inputs as they are, and their targets.
  MicroBatch(at::Tensor images, at::Tensor labels, const PixelFormat& format)
      : images_(std::move(images)), labels_(std::move(labels)), format_(format) {}
  // From the rows `rows` (int64 [n]) of stored examples.
  MicroBatch(at::Tensor images, at::Tensor labels, const PixelFormat& format, at::Tensor rows)
      : images_(std::move(images)), labels_(std::move(labels)), rows_(std::move(rows)), format_(format) {}

  int64_t size() const { return rows_.defined() ? rows_.size(0) : labels_.size(0); }
  Batch assemble() const;

  // copy() makes a micro-batch of the same kind and size; the part that changes from step to step has its own
  // memory. copy_from() fills that memory.
  MicroBatch copy() const;
  void copy_from(const MicroBatch& other);
  // The stored examples, copied to `device` without waiting for the copy.
  MicroBatch to(at::Device device) const;

 private:
  at::Tensor images_;
  at::Tensor labels_;
  at::Tensor rows_;  // undefined: all
  PixelFormat format_;
};

}  // namespace dtrain
