#include "models/batch_statistics.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <algorithm>

namespace dtrain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Wraps GatherRows so that an autograd function can save it beside tensors.
struct Gathering : torch::CustomClassHolder {
  explicit Gathering(GatherRows rows) : rows(std::move(rows)) {}
  GatherRows rows;
};

// All dimensions except the channels.
std::vector<int64_t> reduced_dimensions(const at::Tensor& input) {
  std::vector<int64_t> dimensions = {0};
  for (int64_t i = 2; i < input.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

// Reshapes [channels] so that it broadcasts over an input.
at::Tensor along_channels(const at::Tensor& numbers, const at::Tensor& input) {
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = -1;
  return numbers.view(shape);
}

// [1 + 2 channels], float64: the number of values in each channel on this replica, their means, and the sums
// of their squared deviations.
at::Tensor own_row(const at::Tensor& input) {
  const int64_t channels = input.size(1);
  at::Tensor row = at::zeros({1 + 2 * channels}, input.options().dtype(at::kDouble));
  const int64_t count = input.numel() / channels;
  if (count == 0) return row;
  const auto [variance, mean] = at::var_mean(input, reduced_dimensions(input), /*correction=*/0);
  row[0] = count;
  row.slice(0, 1, 1 + channels).copy_(mean);
  row.slice(0, 1 + channels).copy_(variance.to(at::kDouble).mul_(count));
  return row;
}

// Of all replicas together, from their own_row()s; float64.
struct JoinedStatistics {
  at::Tensor count;           // of values in each channel, a number
  at::Tensor mean, variance;  // [channels]; 0 if no replica has values
};

JoinedStatistics statistics_of(const at::Tensor& rows) {
  const int64_t channels = rows.size(1) / 2;
  const at::Tensor counts = rows.slice(1, 0, 1), means = rows.slice(1, 1, 1 + channels);
  const at::Tensor count = counts.sum(), divisor = count.clamp_min(1);
  const at::Tensor mean = (means * counts).sum(0) / divisor;
  const at::Tensor deviations =
      rows.slice(1, 1 + channels).sum(0) + (counts * (means - mean).square()).sum(0);
  return {count, mean, deviations / divisor};
}

class SynchronisedNorm : public torch::autograd::Function<SynchronisedNorm> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                               const at::Tensor& bias, double epsilon, const GatherRows& gather) {
    const at::ScalarType type = weight.scalar_type();
    const auto [count, mean, variance] = statistics_of(gather(own_row(input.to(type))));
    const at::Tensor inverse = (variance + epsilon).rsqrt().to(type);
    context->save_for_backward({input, weight, mean.to(type), inverse, count});
    context->saved_data["gather"] = c10::IValue::make_capsule(c10::make_intrusive<Gathering>(gather));
    const at::Tensor output = at::batch_norm(input, weight, bias, mean.to(type), variance.to(type),
                                             /*training=*/false, /*momentum=*/0, epsilon,
                                             /*cudnn_enabled=*/true);
    return {output, mean.to(type), variance.to(type), count};
  }

  // With x the normalised input: dx = weight / deviation (dy - mean(dy) - x mean(dy x)), where the means are
  // over all replicas (Ioffe and Szegedy 2015, arXiv:1502.03167, section 3).
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &inverse = saved[3], &count = saved[4];
    const at::ScalarType type = weight.scalar_type();
    const at::Tensor gradient = gradients[0].to(type);
    const at::Tensor normalised =
        (input.to(type) - along_channels(saved[2], input)) * along_channels(inverse, input);
    const std::vector<int64_t> dimensions = reduced_dimensions(input);
    const at::Tensor bias_gradient = gradient.sum(dimensions);
    const at::Tensor weight_gradient = (gradient * normalised).sum(dimensions);

    const auto gathering =
        c10::static_intrusive_pointer_cast<Gathering>(context->saved_data["gather"].toCapsule());
    const at::Tensor all = gathering->rows(at::cat({bias_gradient, weight_gradient}).to(at::kDouble)).sum(0);
    const std::vector<at::Tensor> means = (all / count).to(type).chunk(2);
    const at::Tensor input_gradient =
        (gradient - along_channels(means[0], input) - normalised * along_channels(means[1], input)) *
        along_channels(weight * inverse, input);
    return {input_gradient.to(input.scalar_type()), weight_gradient, bias_gradient, {}, {}};
  }
};

}  // namespace

at::Tensor synchronised_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                             double epsilon, const GatherRows& gather, BatchStatistics& statistics) {
  const variable_list results = SynchronisedNorm::apply(input, weight, bias, epsilon, gather);
  statistics = {results[1].detach(), results[2].detach(), results[3].detach()};
  return results[0];
}

double join_statistics(const GatherRows& gather, int64_t channels, int64_t count, float* means,
                       float* squares) {
  const at::Tensor own = at::zeros({1 + 2 * channels}, at::kDouble);
  double* const row = own.mutable_data_ptr<double>();
  row[0] = static_cast<double>(count);
  if (count > 0) {  // else there is no mean
    std::copy_n(means, channels, row + 1);
    std::copy_n(squares, channels, row + 1 + channels);
  }
  const JoinedStatistics joined = statistics_of(gather(own));
  at::from_blob(means, {channels}, at::kFloat).copy_(joined.mean);
  at::from_blob(squares, {channels}, at::kFloat).copy_(joined.variance);
  return joined.count.item<double>();
}

void join_sums(const GatherRows& gather, int64_t numbers, float* sums) {
  const at::Tensor own = at::from_blob(sums, {numbers}, at::kFloat);
  own.copy_(gather(own.to(at::kDouble)).sum(0));
}

void MovingStatistics::add(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& batch_mean,
                           const at::Tensor& batch_inverse_deviation, double weight, double epsilon) {
  means_.push_back(mean);
  variances_.push_back(variance);
  batch_means_.push_back(batch_mean);
  batch_inverse_deviations_.push_back(batch_inverse_deviation);
  weights_.emplace_back(weight);
  epsilons_.emplace_back(epsilon);
}

void MovingStatistics::move() {
  if (means_.empty()) return;
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> batch_variances = at::_foreach_pow(batch_inverse_deviations_, -2);
  at::_foreach_sub_(batch_variances, epsilons_);
  at::_foreach_clamp_min_(batch_variances, 0);
  at::_foreach_lerp_(means_, batch_means_, weights_);
  at::_foreach_lerp_(variances_, batch_variances, weights_);
  *this = MovingStatistics();
}

}  // namespace dtrain
