// Passes over images with the channels innermost, against those over planes and LibTorch's in float64.
#include <ATen/ATen.h>

#include <limits>

#include "catch.h"
#include "kernels/matrices.h"
#include "kernels/max_pool.h"
#include "kernels/norm.h"

namespace dtrain {
namespace {

const float* numbers_in(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

TEST_CASE("maxima of pixels and their gradients are LibTorch's, with and without a rectifier") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const bool rectify = GENERATE(false, true);
  const Pixels size =
      GENERATE(Pixels{3, 4, 6, 16}, Pixels{2, 5, 7, 3}, Pixels{1, 2, 2, 33}, Pixels{70, 9, 8, 20});
  const std::vector<int64_t> pooled = {size.examples, size.height / 2, size.width / 2, size.channels};
  at::Tensor images = at::randn({size.examples, size.height, size.width, size.channels});
  images.view(-1)[1] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor slopes = at::randn(pooled);
  const at::Tensor leaf = images.detach().requires_grad_();
  const at::Tensor planes = leaf.permute({0, 3, 1, 2});
  const at::Tensor expected = at::max_pool2d(rectify ? at::relu(planes) : planes, 2).permute({0, 2, 3, 1});
  expected.backward(slopes);

  at::Tensor output = at::empty(pooled), argmaxes = at::empty(pooled, at::kInt);
  at::Tensor gradient = at::full_like(images, std::numeric_limits<float>::quiet_NaN());
  max_pool_pixels(size, rectify, numbers_in(images), output.mutable_data_ptr<float>(),
                  argmaxes.mutable_data_ptr<int32_t>());
  max_pool_pixels_backward(size, numbers_in(slopes), argmaxes.const_data_ptr<int32_t>(),
                           gradient.mutable_data_ptr<float>());
  CHECK(at::allclose(output, expected, 0, 0, /*equal_nan=*/true));
  CHECK(at::equal(gradient, leaf.grad()));
}

TEST_CASE("sums of the channels of many pixels are those of float64, whatever the number of threads") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const int64_t channels = GENERATE(1, 16, 37, 64, 150), pixels = GENERATE(513, 5000);
  const ChannelSize size = channels_of(2, channels, pixels, /*innermost=*/true);
  const at::Tensor images = at::randn({2 * pixels, channels}) + 3, slopes = at::randn({2 * pixels, channels});
  const auto sums_with = [&](int threads) {
    const WithThreads some(threads);
    at::Tensor sums = at::empty({4, channels});
    float* const to = sums.mutable_data_ptr<float>();
    sum_channels(size, numbers_in(images), to);
    channel_statistics(size, numbers_in(images), 1e-5F, to + channels, to + 2 * channels);
    sum_normalised(size, numbers_in(slopes), numbers_in(images), to + channels, to + 2 * channels,
                   to + 3 * channels);
    return sums;
  };
  const at::Tensor sums = sums_with(1);
  CHECK(at::equal(sums, sums_with(3)));
  const at::Tensor exact = images.to(at::kDouble);
  const at::Tensor mean = exact.mean(0), deviation = (exact.var(0, /*unbiased=*/false) + 1e-5).sqrt();
  const at::Tensor products = (slopes.to(at::kDouble) * (exact - mean) / deviation).sum(0);
  const auto is_near = [&](int64_t row, const at::Tensor& expected, double absolute) {
    CHECK(at::allclose(sums[row].to(at::kDouble), expected, 1e-5, absolute));
  };
  is_near(0, exact.sum(0), 0);
  is_near(1, mean, 0);
  is_near(2, 1 / deviation, 0);
  is_near(3, products, 1e-2);
}

}  // namespace
}  // namespace dtrain
