// Where examples come from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>

namespace dtrain {

// uint8 images [n, channels, height, width] and int64 labels [n], each label in [0, classes).
struct LabelledImages {
  at::Tensor images;
  at::Tensor labels;
  int64_t size() const { return labels.defined() ? labels.size(0) : 0; }
};

// Memory for some examples, made by whoever reads them. Contiguous, on the host.
struct ExampleSlot {
  at::Tensor inputs;   // [n, shape of an example]: uint8, or the model's dtype
  at::Tensor targets;  // int64 [n]
};

// Examples that are read by index, by any number of threads at once.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual int64_t size() const = 0;
  // Of the inputs of one example: channels, height, width.
  virtual at::IntArrayRef shape() const = 0;
  // Reads the examples `indices`, each from 0 to size() - 1, into `slot`, which has room for as many.
  // `values` [256] of the slot's dtype is what each pixel value becomes; undefined: pixels stay as they are,
  // uint8.
  virtual void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const = 0;
  // All examples, where they are tensors in memory; else nullptr. A device can then hold them.
  virtual const LabelledImages* in_memory() const { return nullptr; }
};

using ExampleSourcePtr = std::shared_ptr<const ExampleSource>;

}  // namespace dtrain
