#include "strategy/metric_sums.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

constexpr int64_t kLoss = 0;
constexpr int64_t kCorrect = 1;
constexpr int64_t kExamples = 2;

}  // namespace

MetricSums::MetricSums(at::Device device)
    : values_(at::zeros({3}, at::TensorOptions().dtype(at::kDouble).device(device))) {}

MetricSums::MetricSums(const std::vector<double>& sums) : values_(at::tensor(sums, at::kDouble)) {}

std::vector<double> MetricSums::to_vector() const {
  const at::Tensor values = values_.cpu();
  const double* const first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

void MetricSums::add_batch(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& loss_sum) {
  const at::NoGradGuard no_grad;
  values_.select(0, kLoss).add_(loss_sum);
  values_.select(0, kCorrect).add_(logits.argmax(1).eq(targets).sum());
  values_.select(0, kExamples).add_(targets.size(0));
}

void MetricSums::add(const MetricSums& other) {
  if (values_.device() == other.values_.device()) {
    values_.add_(other.values_);
  } else if (values_.is_cpu() && values_.count_nonzero().item<int64_t>() == 0) {
    values_ = other.values_.clone();  // sending zeros would wait for the device
  } else {
    values_ = values_.to(other.values_.device()).add_(other.values_);
  }
}

int64_t MetricSums::examples() const { return static_cast<int64_t>(values_[kExamples].item<double>()); }

double MetricSums::loss() const { return values_[kLoss].item<double>() / values_[kExamples].item<double>(); }

double MetricSums::accuracy() const {
  return values_[kCorrect].item<double>() / values_[kExamples].item<double>();
}

}  // namespace dtrain
