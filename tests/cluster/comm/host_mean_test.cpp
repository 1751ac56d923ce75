// The mean over hosts, which are threads here.
#include "comm/host_mean.h"

#include <ATen/ATen.h>

#include <atomic>

#include "catch.h"
#include "comm/group_threads.h"

namespace dtrain {
namespace {

constexpr int64_t kCount = 1000;  // neither whole blocks nor whole slices

// What host `host` has; different in magnitude from block to block.
at::Tensor numbers_of(int host, at::ScalarType type = at::kDouble) {
  const at::Tensor places = at::arange(kCount, type);
  return at::sin(places * (host + 1)) * at::pow(10.0, places / 300);
}

TEST_CASE("the mean over hosts weighs each as it says, with the same bits on all") {
  const int hosts = GENERATE(2, 3);
  at::Tensor expected = at::zeros({kCount}, at::kDouble);
  double weights = 0;
  for (int host = 0; host < hosts; ++host) {
    expected += numbers_of(host) * (host + 0.5);
    weights += host + 0.5;
  }
  expected /= weights;
  std::vector<at::Tensor> means(static_cast<size_t>(hosts));
  with_ranks("gloo", hosts, [&](ProcessGroup& group) {
    HostMean mean(group, kCount, at::kDouble, Encoding::kWhole);
    at::Tensor own = numbers_of(group.rank());
    mean.replace(own, group.rank() + 0.5);
    means[static_cast<size_t>(group.rank())] = own;
    CHECK_FALSE(mean.lost().defined());
  });
  for (const at::Tensor& mean : means) {
    CHECK(at::allclose(mean, expected, 1e-14, 1e-14));
    CHECK(at::equal(mean, means.front()));
  }
}

TEST_CASE("hosts without examples do not count, and their numbers are not changed to NaN") {
  std::atomic<int> right = 0;
  with_ranks("gloo", 2, [&](ProcessGroup& group) {
    HostMean mean(group, kCount, at::kDouble, Encoding::kWhole);
    at::Tensor own = numbers_of(group.rank());
    mean.replace(own, group.rank());
    if (at::equal(own, numbers_of(1))) ++right;
    mean.replace(own, 0);
    if (at::isfinite(own).all().item<bool>()) ++right;
  });
  CHECK(right == 4);
}

TEST_CASE("what an encoding loses is sent the next time") {
  const auto [encoding, precision] = GENERATE(table<Encoding, double>(
      {{Encoding::kBf16, 1.0 / 128}, {Encoding::kFp16, 1.0 / 1024}, {Encoding::kInt8, 1.0 / 64}}));
  constexpr int kRounds = 50;
  const at::Tensor expected = (numbers_of(0, at::kFloat) + numbers_of(1, at::kFloat)) / 2;
  // Of the largest number of each block of 256, in which numbers grow by less than a factor of 10.
  const at::Tensor bound = at::pow(10.0, at::arange(kCount, at::kFloat) / 300) * 10 * precision;
  std::atomic<int> right = 0;
  with_ranks("gloo", 2, [&, encoding = encoding](ProcessGroup& group) {
    HostMean mean(group, kCount, at::kFloat, encoding);
    at::Tensor sum = at::zeros({kCount}, at::kFloat);
    for (int round = 0; round < kRounds; ++round) {
      at::Tensor own = numbers_of(group.rank(), at::kFloat);
      mean.replace(own, 1);
      const at::Tensor error = (own - expected).abs();
      if (round == 0 && (error <= bound).all().item<bool>() && error.max().item<double>() > 0) ++right;
      sum += own;
    }
    // Not kRounds times what is lost in one.
    if (((sum - expected * kRounds).abs() <= 2 * bound).all().item<bool>()) ++right;
  });
  CHECK(right == 4);
}

TEST_CASE("numbers that are not finite stay so in each encoding") {
  const Encoding encoding = GENERATE(Encoding::kWhole, Encoding::kBf16, Encoding::kFp16, Encoding::kInt8);
  std::atomic<int> right = 0;
  with_ranks("gloo", 2, [&](ProcessGroup& group) {
    HostMean mean(group, kCount, at::kFloat, encoding);
    at::Tensor own = at::ones({kCount}, at::kFloat);
    if (group.rank() == 1) own[500] = std::nan("");
    mean.replace(own, 1);
    if (!std::isfinite(own[500].item<double>())) ++right;
  });
  CHECK(right == 2);
}

}  // namespace
}  // namespace dtrain
