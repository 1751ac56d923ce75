// The examples of one forward pass, and how stored pixels become the numbers that it starts from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dtrain {

struct Batch {
  at::Tensor inputs;   // [n, channels, height, width] of the model's dtype, normalised
  at::Tensor targets;  // int64 [n]
  int64_t size() const { return targets.size(0); }
};

// (pixel / 255 - mean) / standard_deviation
struct Normalisation {
  double mean = 0;
  double standard_deviation = 1;
};

// What stored pixels are turned into.
struct PixelFormat {
  Normalisation normalisation;
  at::ScalarType dtype = at::kFloat;
  bool channels_last = false;  // in memory; the shape stays
};

// Tensors only, on the device that computes with them: assembling one is part of a step that a device can
// record and replay.
class MicroBatch {
 public:
  // Examples that are normalised already.
  explicit MicroBatch(Batch batch) : images_(std::move(batch.inputs)), labels_(std::move(batch.targets)) {}
  // Stored ones: uint8 [n, channels, height, width] and int64 [n].
  MicroBatch(at::Tensor images, at::Tensor labels, const PixelFormat& format)
      : images_(std::move(images)), labels_(std::move(labels)), format_(format) {}
  // Rows `rows` (int64 [n]) of stored ones.
  MicroBatch(at::Tensor images, at::Tensor labels, const PixelFormat& format, at::Tensor rows)
      : images_(std::move(images)), labels_(std::move(labels)), rows_(std::move(rows)), format_(format) {}

  int64_t size() const { return rows_.defined() ? rows_.size(0) : labels_.size(0); }
  Batch assemble() const;

  // One of the same kind and size whose changing part has memory of its own, and the way to fill it.
  MicroBatch copy() const;
  void copy_from(const MicroBatch& other);
  // Stored examples, moved to `device` without waiting for it.
  MicroBatch to(at::Device device) const;

 private:
  at::Tensor images_;
  at::Tensor labels_;
  at::Tensor rows_;  // undefined: all
  PixelFormat format_;
};

}  // namespace dtrain
