// metrics.noise_scale on a linear regression, whose gradients have a closed form.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "catch.h"
#include "core/range.h"
#include "data/example_source.h"
#include "models/layer_specs.h"
#include "sanitized.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

// Of one dense layer without bias, whose weights no step moves.
JobSpec regression() {
  JobSpec spec = small_spec();
  spec.model.kind = "layers";
  spec.model.layers = {without_bias(dense(1))};
  spec.model.dtype = "float64";
  spec.train.loss.kind = "mean_squared_error";
  spec.train.optimizer.learning_rate = 1e-200;
  spec.data.shuffle = false;
  spec.metrics.noise_scale = true;
  return spec;
}

Dataset rows_of(const at::Tensor& inputs, const at::Tensor& targets) {
  Dataset dataset{{}, make_memory_source({inputs, targets}), make_memory_source({inputs, targets})};
  dataset.info.example_shape = {inputs.size(1)};
  dataset.info.targets = 1;
  return dataset;
}

struct NoisyRows {
  Dataset dataset;
  at::Tensor
      gradients;  // [rows, features] of each example's squared error r^2, with the initial weights: 2 r x
};

// Inputs of the normal distribution, and targets that the initial weights miss by `miss` in each weight, and
// by noise of `deviation`.
NoisyRows noisy_rows(JobSpec spec, int64_t rows, int64_t features, double miss, double deviation) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(3);
  const at::Tensor inputs = at::randn({rows, features}, generator, at::kDouble);
  const at::Tensor noise = at::randn({rows}, generator, at::kDouble) * deviation;
  spec = with_batch(placed(spec, {"mirrored", "auto", 1, 1}), 10);
  spec.hosts.clear();
  spec.strategy.virtual_replicas.reset();
  const at::ScalarType type = spec.model.dtype == "float64" ? at::kDouble : at::kFloat;
  const Dataset some = rows_of(inputs.to(type), at::zeros({rows, 1}, type));
  const at::Tensor weights =
      train_with_threads(spec, some, 1, 0).variables.front().second.view({-1}).to(at::kDouble);
  const at::Tensor targets = at::mv(inputs, weights - miss) + noise;
  const at::Tensor errors = at::mv(inputs, at::full({features}, miss, at::kDouble)) - noise;
  return {rows_of(inputs.to(type), targets.unsqueeze(1).to(type)), 2 * errors.unsqueeze(1) * inputs};
}

// The definition: over steps of `batch` rows in order, each in `parts` and weighted by its rows, by the
// deviations of the parts' means from that of all.
double reference_scale(const at::Tensor& gradients, int64_t batch, int64_t parts) {
  double noise = 0, signal = 0;
  for (int64_t begin = 0; begin < gradients.size(0); begin += batch) {
    const int64_t end = std::min(begin + batch, gradients.size(0));
    const at::Tensor mean = gradients.slice(0, begin, end).mean(0);
    double deviations = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const Range own = share_of({begin, end}, part, parts);
      const at::Tensor difference = gradients.slice(0, own.begin, own.end).mean(0) - mean;
      deviations += static_cast<double>(own.end - own.begin) * difference.square().sum().item<double>();
    }
    const double of_step = deviations / static_cast<double>(parts - 1);
    const auto examples = static_cast<double>(end - begin);
    noise += examples * of_step;
    signal += examples * mean.square().sum().item<double>() - of_step;
  }
  return noise / signal;
}

// Equations A.2 and A.3 of McCandlish et al. 2018, for parts of one size.
double scale_of_paper(const at::Tensor& gradients, int64_t batch, int64_t parts) {
  const auto big = static_cast<double>(batch), small = big / static_cast<double>(parts);
  const auto squares = [&](int64_t size) {
    return gradients.view({-1, size, gradients.size(1)}).mean(1).square().sum(1).mean().item<double>();
  };
  const double of_big = squares(batch), of_small = squares(batch / parts);
  const double signal = (big * of_big - small * of_small) / (big - small);
  const double noise = (of_small - of_big) / (1 / small - 1 / big);
  return noise / signal;
}

TEST_CASE("the noise scale is that of the parts' own gradients, however they are computed") {
  struct Case {
    Place place;
    std::optional<int64_t> virtual_replicas;
    int64_t per_part, accumulated;
  };
  const Case one = GENERATE(
      Case{{"mirrored", "shared_memory", 2, 1}, {}, 12, 1},
      Case{{"mirrored", "shared_memory", 3, 1}, {}, 4, 2}, Case{{"central_storage", "auto", 2, 1}, {}, 12, 1},
      Case{{"mirrored", "shared_memory", 1, 1}, 4, 6, 1}, Case{{"mirrored", "shared_memory", 2, 1}, 4, 3, 2},
      Case{{"mirrored", "gloo", 2, 1}, 4, 6, 1}, Case{{"multi_worker_mirrored", "auto", 2, 2}, 4, 6, 1});
  const int64_t rows = GENERATE(96, 109);  // the last step is whole, or has 13
  INFO(one.place.kind << " " << one.place.communication << " " << one.place.replicas << " " << rows);
  JobSpec spec = placed(with_batch(regression(), one.per_part, one.accumulated), one.place);
  spec.strategy.virtual_replicas = one.virtual_replicas;
  const bool compiled = GENERATE(false, true);
  if (compiled) spec.model.dtype = "float32";
  spec.train.step = compiled ? "compiled" : "eager";
  spec.train.clip_norm = GENERATE(0.0, 0.1);  // of no concern to it
  const int64_t parts = one.virtual_replicas.value_or(one.place.replicas);
  const auto steps = static_cast<int>((rows + 23) / 24);
  const auto [dataset, gradients] = noisy_rows(spec, rows, 5, 0.4, 1);
  const auto got = train_with_threads(spec, dataset, one.place.replicas, steps).noise_scale;
  REQUIRE(got);
  CHECK(*got == Approx(reference_scale(gradients, 24, parts)).epsilon(compiled ? 1e-4 : 1e-10));
  if (rows == 96)
    CHECK(*got == Approx(scale_of_paper(gradients, 24, parts)).epsilon(compiled ? 1e-4 : 1e-10));
}

// With x from the normal distribution in d dimensions, weights off by m and noise of deviation s, G = 2 m and
// tr(C) = 4 ((d + 1) |m|^2 + d s^2), so tr(C) / |G|^2 = d + 1 + d s^2 / |m|^2.
TEST_CASE("the noise scale of a linear regression is its closed form, within the error of the sample") {
  constexpr int64_t kRows = 20000, kFeatures = 6, kBatch = 32;
  const double miss = GENERATE(0.2, 0.5, 1.0), squares = kFeatures * miss * miss;
  if (kSanitized && miss != 0.5) return;
  const JobSpec spec = with_batch(regression(), kBatch / 2);
  const auto [dataset, gradients] = noisy_rows(spec, kRows, kFeatures, miss, 1);
  const auto got = train_with_threads(spec, dataset, 2, kRows / kBatch).noise_scale;
  REQUIRE(got);
  const double expected = kFeatures + 1 + kFeatures / squares;
  // The variances of both estimates, with C = 4 ((|m|^2 + s^2) I + m m').
  const double a = squares + 1, of_square = 16 * (kFeatures * a * a + 2 * a * squares + squares * squares);
  const double signal = 4 * squares, noise = expected * signal;
  const double of_signal = 4 * 16 * squares * (a + squares) / kRows + 2 * of_square / (kRows * kBatch);
  const double of_noise = 2 * of_square / (kRows / kBatch);
  const double error = std::sqrt(of_signal / (signal * signal) + of_noise / (noise * noise));
  INFO(*got << ", expected " << expected << " with a standard error of " << 100 * error << " %");
  CHECK(error < 0.15);
  CHECK(std::fabs(*got / expected - 1) < 3 * error);
}

TEST_CASE("there is no noise scale of one part, without noise, or unless it is asked for") {
  JobSpec spec = with_batch(regression(), 12);
  const Dataset dataset = noisy_rows(spec, 96, 5, 0.4, 1).dataset;
  CHECK_FALSE(train_with_threads(spec, dataset, 1, 4).noise_scale);
  spec.metrics.noise_scale = false;
  CHECK_FALSE(train_with_threads(spec, dataset, 2, 4).noise_scale);
  spec.metrics.noise_scale = true;
  const Dataset same = rows_of(at::ones({96, 5}, at::kDouble), at::ones({96, 1}, at::kDouble));
  const auto none = train_with_threads(spec, same, 2, 4).noise_scale;
  CHECK(none.value_or(0) < 1e-12);  // but for rounding
}

}  // namespace
}  // namespace dtrain
