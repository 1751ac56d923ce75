// How pixels become numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// (pixel / 255 - mean) / standard_deviation. Each list has one entry for all channels, or one for each.
struct Normalisation {
  std::vector<double> mean = {0};
  std::vector<double> standard_deviation = {1};

  double mean_of(int64_t channel) const { return of(mean, channel); }
  double standard_deviation_of(int64_t channel) const { return of(standard_deviation, channel); }
  // Whether one pair of numbers holds for all channels.
  bool is_uniform() const { return mean.size() == 1 && standard_deviation.size() == 1; }

 private:
  static double of(const std::vector<double>& list, int64_t channel) {
    return list.size() == 1 ? list.front() : list[static_cast<size_t>(channel)];
  }
};

// data.image.mean, or else data.mean, and so on. Throws Error(kBug) if they are still to be measured.
Normalisation normalisation_of(const DataSpec& data);

// "0.5", or "[0.485, 0.456, 0.406]".
std::string text_of(const std::vector<double>& one_or_more);

}  // namespace dtrain
