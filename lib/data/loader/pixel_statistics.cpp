#include "loader/pixel_statistics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/error.h"
#include "core/parallel.h"

namespace dtrain {
namespace {

constexpr int64_t kBlockBytes = 4 << 20;  // that a thread reads at once
constexpr int64_t kBlockExamples = 256;
constexpr int64_t kSpan = 1 << 16;  // pixels whose squares' sum fits into 32 bits
constexpr double kDecimals = 1e6;

struct ChannelSums {
  uint64_t pixels = 0;
  uint64_t values = 0;
  uint64_t squares = 0;
};

void add_span(const uint8_t* pixels, int64_t count, ChannelSums& sums) {
  uint32_t values = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t value = pixels[i];
    values += value;
    squares += value * value;
  }
  sums.pixels += static_cast<uint64_t>(count);
  sums.values += values;
  sums.squares += squares;
}

// `pixels` has one picture after the other, each with one channel after the other.
void add_pictures(const uint8_t* pixels, int64_t pictures, int64_t plane, std::vector<ChannelSums>& sums) {
  for (int64_t picture = 0; picture < pictures; ++picture) {
    for (ChannelSums& channel : sums) {
      for (int64_t done = 0; done < plane; done += kSpan)
        add_span(pixels + done, std::min(kSpan, plane - done), channel);
      pixels += plane;
    }
  }
}

double rounded(double number) { return std::round(number * kDecimals) / kDecimals; }

// n^2 times the variance is the integer n * squares - values^2, of up to 128 bits.
double deviation_of(const ChannelSums& sums) {
  __extension__ using Wide = unsigned __int128;
  const Wide scaled =
      static_cast<Wide>(sums.pixels) * sums.squares - static_cast<Wide>(sums.values) * sums.values;
  return std::sqrt(static_cast<double>(scaled)) / static_cast<double>(sums.pixels) / 255;
}

}  // namespace

PixelStatistics measure_pixels(const ExampleSource& source, int64_t threads, const OnPrepared& on_progress) {
  const at::IntArrayRef shape = source.shape();
  if (!source.has_pixels() || shape.size() != 3 || source.size() == 0)
    throw Error(ExitCode::kBug, "there are no pixels to measure");
  const int64_t plane = shape[1] * shape[2];
  const int64_t rows = std::clamp<int64_t>(kBlockBytes / (shape[0] * plane), 1, kBlockExamples);
  std::vector<ChannelSums> sums(static_cast<size_t>(shape[0]));
  int64_t done = 0;
  std::mutex mutex;  // guards sums and done
  for_each_in_threads((source.size() + rows - 1) / rows, threads, [&](int64_t block) {
    const Range own_rows = {block * rows, std::min((block + 1) * rows, source.size())};
    const int64_t count = own_rows.size();
    const ExampleSlot slot = read_rows(source, own_rows);
    std::vector<ChannelSums> own(sums.size());
    add_pictures(slot.inputs.const_data_ptr<uint8_t>(), count, plane, own);
    const std::lock_guard lock(mutex);
    for (size_t channel = 0; channel < sums.size(); ++channel) {
      sums[channel].pixels += own[channel].pixels;
      sums[channel].values += own[channel].values;
      sums[channel].squares += own[channel].squares;
    }
    done += count;
    if (on_progress) on_progress(done, source.size());
  });
  PixelStatistics measured;
  for (const ChannelSums& channel : sums) {
    const double mean = static_cast<double>(channel.values) / static_cast<double>(channel.pixels) / 255;
    const double deviation = rounded(deviation_of(channel));
    measured.mean.push_back(rounded(mean));
    measured.standard_deviation.push_back(deviation == 0 ? 1 : deviation);
  }
  return measured;
}

bool are_nearly_black(const PixelStatistics& measured) {
  constexpr double kBrightest = 1.0 / 16;  // such pixels deviate by half of that at most
  const auto below = [](const std::vector<double>& numbers, double most) {
    return std::ranges::all_of(numbers, [most](double number) { return number <= most; });
  };
  return below(measured.mean, kBrightest) && below(measured.standard_deviation, kBrightest / 2);
}

bool measures_pixels(const DataSpec& spec) {
  return spec.image.mean.measured || spec.image.standard_deviation.measured;
}

void set_measured(DataSpec& spec, const PixelStatistics& measured) {
  if (spec.image.mean.measured) spec.image.mean = {.values = measured.mean};
  if (spec.image.standard_deviation.measured)
    spec.image.standard_deviation = {.values = measured.standard_deviation};
}

}  // namespace dtrain
