// Where examples come from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/range.h"

namespace dtrain {

// Examples as they are stored: uint8 images [n, channels, height, width], or numbers [n, shape of an
// example]; and int64 classes [n], each in [0, classes), or the numbers to predict, [n, targets].
struct StoredExamples {
  at::Tensor inputs;
  at::Tensor targets;
  int64_t size() const { return targets.defined() ? targets.size(0) : 0; }
};

// Memory for some examples, allocated by the caller that reads them. Contiguous, on the host.
struct ExampleSlot {
  at::Tensor inputs;   // [n, shape of an example]: uint8, or the model's dtype
  at::Tensor targets;  // int64 [n], the classes; or the model's dtype, [n, numbers to predict]
};

// The user's name for an example.
struct ExampleName {
  std::string file = {};  // below the dataset's folder; of an archive "shards/train-0.tar: 000001.jpg"
  int64_t row = 0;        // of a table, from 1; 0: the file is the example
  int64_t index = 0;      // from 0, where the data have no names
};

// "rose/1.jpg", "test.csv, row 13", or "example 12".
std::string title_of(const ExampleName& name);

// Examples that are read by index. Any number of threads may read at once.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual int64_t size() const = 0;
  // Shape of the inputs of one example: channels, height, width; or of numbers any.
  virtual at::IntArrayRef shape() const = 0;
  // Whether inputs are stored as uint8 pixels. Otherwise they are numbers that a model takes as they are.
  virtual bool has_pixels() const { return true; }
  // How many numbers the target of an example is; 0: it is a class.
  virtual int64_t targets() const { return 0; }
  // Reads the examples `indices`, each from 0 to size() - 1 and perhaps none, into `slot`, which has room for
  // exactly that many. `values`, of the slot's dtype, maps each pixel value to a number: [1, 256] for all
  // channels, or [channels, 256]. If it is undefined, pixels stay uint8. Numbers become the slot's dtype.
  virtual void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const = 0;
  // The class of every example, int64 [n], for which no inputs are read. Undefined: targets are numbers.
  virtual at::Tensor classes() const { return {}; }
  // Has the examples `indices` fetched for a read() while the result lives. Null, whatever the indices:
  // they are on this host.
  virtual std::shared_ptr<const void> expect(std::span<const int64_t> /*indices*/) const { return {}; }
  // The names of the examples `indices`. Takes long for some sources, however few they are.
  virtual std::vector<ExampleName> names_of(std::span<const int64_t> indices) const;
  // All examples as tensors, if they are in memory (a device can then hold them); a part copies its own.
  virtual std::optional<StoredExamples> in_memory() const { return std::nullopt; }
};

using ExampleSourcePtr = std::shared_ptr<const ExampleSource>;

// The examples `rows` of a source as they are stored; numbers as `numbers`.
ExampleSlot read_rows(const ExampleSource& source, Range rows, at::ScalarType numbers = at::kFloat);

using NamesOf = std::function<std::vector<ExampleName>(std::span<const int64_t> indices)>;
// Is called with examples before they are read; what it throws comes out of the reading.
using BeforeReading = std::function<void(std::span<const int64_t> indices)>;

// Holds `examples` without copying them; without `names` they have none. Throws Error(kBug) if they are not
// as StoredExamples describes, or not contiguous: numbers are float32 or float64.
ExampleSourcePtr make_memory_source(StoredExamples examples, NamesOf names = {},
                                    BeforeReading before_reading = {});

// The examples of a source that has them in memory. Throws Error(kBug) for any other source.
StoredExamples stored_examples_of(const ExampleSource& source);

}  // namespace dtrain
