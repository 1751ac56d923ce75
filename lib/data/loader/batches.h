// From examples to the batches of one replica: order, shares, prefetch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/example_source.h"
#include "loader/loader_options.h"
#include "loader/micro_batch.h"

namespace dtrain {

// One replica's share of one optimizer step: one part of the global batch, or with strategy.virtual_replicas
// one or more. Each has as many micro-batches as the largest part needs. The count is the same on every
// replica, because some replicas wait for each other in each micro-batch. The last entries of a part may be
// smaller, or empty.
struct Share {
  std::vector<MicroBatch> micro_batches;  // part after part
  size_t parts = 1;
  std::vector<int64_t> indices;  // of all its examples in the source, in training order
  int64_t global_examples = 0;   // in the whole step, over all replicas and micro-batches
  int64_t epoch = 0;             // 0-based
  int64_t step = 0;              // 0-based within the epoch
  bool keeps_rows = false;       // an evaluation: MetricSums::take_rows() is asked for

  std::span<const MicroBatch> part(size_t number) const {
    const size_t count = micro_batches.size() / parts;
    return std::span(micro_batches).subspan(number * count, count);
  }
};

// Yields the shares of an epoch in order. Not thread-safe. next() rethrows an error of the prefetch thread.
class ShareLoader {
 public:
  // kResident copies all examples to the device.
  ShareLoader(ExampleSourcePtr source, const LoaderOptions& options);
  ~ShareLoader();

  // Starts epoch `epoch` (0-based) at step `first_step`, for up to `most_steps` steps. Epoch and seed decide
  // the order of the examples.
  void start_epoch(int64_t epoch, int64_t first_step = 0,
                   int64_t most_steps = std::numeric_limits<int64_t>::max());
  // The next share, or nullopt at the end of the epoch.
  std::optional<Share> next();
  int64_t steps_per_epoch() const;
  // Whether examples are elsewhere, and next() may wait for a server.
  bool fetches() const;
  // How many shares next() will return without waiting, as they are there already.
  int64_t ready() const;
  const ExampleSource& source() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace dtrain
