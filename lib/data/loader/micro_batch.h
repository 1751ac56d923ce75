// The examples of one forward pass, and how stored pixels are converted to its inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "spec/normalisation.h"

namespace dtrain {

struct Batch {
  at::Tensor inputs;   // [n, shape of an example] of the model's dtype, normalised
  at::Tensor targets;  // int64 [n], the classes; or [n, numbers to predict] of the model's dtype
  // Where data.augment mixes pictures, else undefined: the class of each example's partner, int64 [n], and
  // the share that `targets` has of the example, [n] of the model's dtype, 0.5 to 1.
  at::Tensor other_targets = {};
  at::Tensor shares = {};
  int64_t size() const { return targets.size(0); }
  bool is_mixed() const { return other_targets.defined(); }
};

// The format to which stored pixels are converted.
struct PixelFormat {
  Normalisation normalisation;
  at::ScalarType dtype = at::kFloat;
  bool channels_last = false;  // memory layout only; the shape stays the same
};

// Holds only tensors, on the computing device: assemble() is part of a step that it can record and replay.
class MicroBatch {
 public:
  // Inputs are uint8 [n, channels, height, width], which assemble() normalises, or numbers as they are.
  explicit MicroBatch(Batch stored, const PixelFormat& format = {})
      : stored_(std::move(stored)), format_(format) {}
  // From rows of stored examples, which are not mixed. `rows`: their numbers, int64 [n]; or, of examples with
  // a class each, the numbers and below them the classes, int64 [2, n], which spares a step to gather those.
  MicroBatch(Batch stored, const PixelFormat& format, at::Tensor rows)
      : stored_(std::move(stored)), rows_(std::move(rows)), format_(format) {}

  int64_t size() const { return rows_.defined() ? rows_.size(-1) : stored_.size(); }
  Batch assemble() const;
  // The source of assemble(): its `rows` (int64 [n]), or all of it if they are undefined.
  const Batch& stored() const { return stored_; }
  at::Tensor rows() const;

  // copy() makes a micro-batch of the same kind and size; the part that changes from step to step has its own
  // memory. copy_from() fills that memory.
  MicroBatch copy() const;
  void copy_from(const MicroBatch& other);
  // The stored examples, copied to `device` without waiting for the copy.
  MicroBatch to(at::Device device) const;

 private:
  bool has_classes() const { return rows_.defined() && rows_.dim() == 2; }

  Batch stored_;
  at::Tensor rows_;  // undefined: all
  PixelFormat format_;
};

}  // namespace dtrain
