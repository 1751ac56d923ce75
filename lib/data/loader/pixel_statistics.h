// Mean and standard deviation of the training pictures' pixels (data.image.mean: measured).
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace dtrain {

// Of each channel, scaled to 0..1 and to six decimals. Made from sums of integers: the same numbers on every
// host and with any number of threads.
struct PixelStatistics {
  std::vector<double> mean;
  std::vector<double> standard_deviation;  // of all pixels; 1 for a channel whose pixels are all the same
};

// Measures all pixels of `source`, which has pixels and at least one example. Reports examples to
// `on_progress`.
PixelStatistics measure_pixels(const ExampleSource& source, int64_t threads,
                               const OnPrepared& on_progress = {});

// Whether all pixels may be below a sixteenth of the brightest value, and what to say of that.
bool are_nearly_black(const PixelStatistics& measured);
inline constexpr const char* kNearlyBlack =
    "the training pictures are nearly black; if these are 12 bits of a camera in files of 16, multiply "
    "their values by 16 (`dtrain data check` names such files)";

// Whether the spec asks to measure pixels.
bool measures_pixels(const DataSpec& spec);

// Puts what was measured in its place.
void set_measured(DataSpec& spec, const PixelStatistics& measured);

}  // namespace dtrain
