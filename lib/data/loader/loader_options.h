// How a replica's batches are put together.
#pragma once

#include <cstdint>
#include <vector>

#include "loader/batch_plan.h"
#include "loader/micro_batch.h"
#include "spec/spec.h"

namespace dtrain {

// Where the stored pixels of a batch are converted to normalised numbers.
enum class Assembly {
  kOnHost,    // by the loader, which yields normalised batches
  kResident,  // on the device, which holds the whole dataset as it is stored
  kUploaded,  // on the device; the stored examples of each batch are sent to it
};

struct LoaderOptions {
  BatchPlan plan;
  Range own = {0, 1};  // the parts of each batch that this loader yields
  bool shuffle = true;
  bool balanced = false;  // every class as often as another; then shuffled in any case
  uint64_t seed = 0;
  PixelFormat format;
  Assembly assembly = Assembly::kOnHost;
  // kResident: the device holds the numbers that pixels are converted to, not the pixels. That takes several
  // times as much memory and spares each step the conversion.
  bool holds_numbers = false;
  at::Device device = at::kCPU;  // device of the tensors that next() returns
  int64_t prefetch = 0;  // shares that a separate thread assembles ahead; 0: no thread, next() assembles them
  std::vector<AugmentSpec> augment;  // what is done to pictures; none of kResident ones
  int64_t threads = 1;               // that do it; the pixels are the same with any number
};

}  // namespace dtrain
