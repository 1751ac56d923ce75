// From examples to the batches of one replica: order, shares, normalisation, prefetch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/example_source.h"
#include "data/micro_batch.h"
#include "spec/batch_plan.h"

namespace dtrain {

// One replica's share of one optimizer step. `micro_batches` has as many entries as the largest share needs:
// the same number on every replica, as some wait for each other in each. The last ones may be smaller, or
// empty.
struct Share {
  std::vector<MicroBatch> micro_batches;
  std::vector<int64_t> indices;  // of all its examples in the dataset, in their order
  int64_t global_examples = 0;   // of the whole step, over all replicas and micro-batches
  int64_t step = 0;              // 0-based within the epoch
};

// Where the pixels of a batch become numbers.
enum class Assembly {
  kOnHost,    // by the loader: batches are normalised when they come
  kResident,  // on the device, which holds all examples as they are stored
  kUploaded,  // on the device, to which the stored examples of each batch are sent
};

struct LoaderOptions {
  BatchPlan plan;
  int64_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;
  PixelFormat format;
  Assembly assembly = Assembly::kOnHost;
  at::Device device = at::kCPU;  // where what next() yields lies
  int64_t prefetch = 0;  // shares assembled ahead by a thread of its own; 0: none, assembled in next()
};

// Yields the shares of an epoch in order. Not thread-safe. An error in the prefetch thread is rethrown by
// next().
class ShareLoader {
 public:
  // kResident copies all examples to the device.
  ShareLoader(ExampleSourcePtr source, const LoaderOptions& options);
  ~ShareLoader();
  ShareLoader(const ShareLoader&) = delete;
  ShareLoader& operator=(const ShareLoader&) = delete;

  // Starts epoch `epoch` (0-based; with the seed it decides the order) at step `first_step`.
  void start_epoch(int64_t epoch, int64_t first_step = 0);
  // The next share, or nullopt at the end of the epoch.
  std::optional<Share> next();
  int64_t steps_per_epoch() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// The order of an epoch: a permutation of 0..examples-1 seeded by (seed, epoch), or the identity.
std::vector<int64_t> epoch_order(int64_t examples, bool shuffle, uint64_t seed, int64_t epoch);

}  // namespace dtrain
