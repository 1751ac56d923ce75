// data.image.mean: measured.
#include "loader/pixel_statistics.h"

#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "data/split.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

ExampleSourcePtr pictures_of(const at::Tensor& images) {
  return make_memory_source({images, at::zeros({images.size(0)}, at::kLong)});
}

TEST_CASE("measured pixels have the mean and deviation of float64 arithmetic, with any number of threads") {
  at::manual_seed(4);
  // Larger than a block of a thread, and planes larger than a span.
  const at::Tensor images =
      at::cat({at::randint(0, 256, {23, 1, 300, 310}, at::kByte),
               at::randint(0, 3, {23, 1, 300, 310}, at::kByte), at::full({23, 1, 300, 310}, 250, at::kByte)},
              1);
  const PixelStatistics measured = measure_pixels(*pictures_of(images), 2);
  REQUIRE(measured.mean.size() == 3);
  const at::Tensor numbers = images.to(at::kDouble).div_(255);
  for (int64_t channel = 0; channel < 2; ++channel) {
    const at::Tensor of_channel = numbers.select(1, channel);
    const auto at = static_cast<size_t>(channel);
    CHECK(std::abs(measured.mean[at] - of_channel.mean().item<double>()) < 0.6e-6);
    CHECK(std::abs(measured.standard_deviation[at] - of_channel.std(/*unbiased=*/false).item<double>()) <
          0.6e-6);
  }
  CHECK(measured.mean[2] == 0.980392);
  CHECK(measured.standard_deviation[2] == 1);  // all the same: nothing to divide by
  for (const int64_t threads : {1, 3, 8}) {
    const PixelStatistics again = measure_pixels(*pictures_of(images), threads);
    CHECK(again.mean == measured.mean);
    CHECK(again.standard_deviation == measured.standard_deviation);
  }
}

TEST_CASE("pixels of 0 and 255 in a proportion of p have a mean of p and a deviation of sqrt(p (1 - p))") {
  at::Tensor images = at::zeros({50, 1, 4, 4}, at::kByte);
  images.slice(0, 0, 10).fill_(255);
  const PixelStatistics measured = measure_pixels(*pictures_of(images), 2);
  CHECK(measured.mean == std::vector<double>{0.2});
  CHECK(measured.standard_deviation == std::vector<double>{0.4});
  // Only what is trained on counts.
  const auto part = make_selection(pictures_of(images), {0, 20, 21, 22});
  CHECK(measure_pixels(*part, 2).mean == std::vector<double>{0.25});
}

TEST_CASE("Fashion-MNIST has its well-known numbers") {
  DataSpec spec;
  spec.dataset = "fashion_mnist";
  spec.path = "/usr/share/datasets/fashion-mnist";
  spec.image.mean.measured = spec.image.standard_deviation.measured = true;
  CHECK(measures_pixels(spec));
  const PixelStatistics measured = measure_pixels(*load_dataset(spec, 0).train, 2);
  CHECK(measured.mean.at(0) == Approx(0.2860).margin(5e-5));
  CHECK(measured.standard_deviation.at(0) == Approx(0.3530).margin(5e-5));
  set_measured(spec, measured);
  CHECK(spec.image.mean.values == measured.mean);
  CHECK_FALSE(measures_pixels(spec));
}

TEST_CASE("what is not asked for is not replaced") {
  DataSpec spec;
  spec.image.mean.values = {0.5};
  spec.image.standard_deviation.measured = true;
  set_measured(spec, {{0.1, 0.2}, {0.3, 0.4}});
  CHECK(spec.image.mean.values == std::vector<double>{0.5});
  CHECK(spec.image.standard_deviation.values == std::vector<double>{0.3, 0.4});
}

TEST_CASE("numbers have no pixels to measure") {
  const ExampleSourcePtr numbers = make_memory_source({at::zeros({8, 3}), at::zeros({8}, at::kLong)});
  CHECK_THAT(error_of([&] { measure_pixels(*numbers, 1); }, ExitCode::kBug), ContainsSubstring("no pixels"));
}

}  // namespace
