#include "objective/metric_sums.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/error.h"

namespace dtrain {
namespace {

constexpr int64_t kOwn = 2;  // where the objective's own sums start

// Of as many outputs as `values` are of.
MetricValues metrics_from(const ObjectiveInfo& objective, const ExampleSums& values) {
  MetricValues metrics;
  for (const MetricInfo& metric : objective.metrics) metrics.emplace_back(metric.name, metric.value(values));
  return metrics;
}

// So many batches later nobody waits for sums any more. More than the steps of three calls of a TPU's program
// (strategy.steps_per_execution, at most 1000), which are under way at once.
constexpr size_t kMostPending = 4096;

}  // namespace

MetricSums::MetricSums(const ObjectiveInfo& objective, int64_t outputs, at::Device device)
    : objective_(&objective),
      values_(
          at::zeros({objective.sum_count(outputs)}, at::TensorOptions().dtype(at::kDouble).device(device))) {}

MetricSums::MetricSums(const ObjectiveInfo& objective, int64_t outputs,
                       const std::map<std::string, double>& named)
    : MetricSums(objective, outputs) {
  const std::vector<std::string> names = objective.sum_names(outputs);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto value = named.find(names[i]);
    if (value == named.end() || named.size() != names.size()) {
      throw Error(ExitCode::kCheckpoint,
                  "the checkpoint's sums are not those of the loss {} and {} outputs; another version of "
                  "dtrain may have saved it: resume with that one",
                  objective.name, outputs);
    }
    values_[static_cast<int64_t>(i)] = value->second;
  }
}

void MetricSums::add_batch(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets,
                           const at::Tensor& loss_sum) {
  const at::NoGradGuard no_grad;
  settle(0);
  objective_ = &objective.info();
  // Few operations, each writing directly to its place: a device takes longer to start one than to compute
  // it.
  const at::TensorOptions options = at::TensorOptions().dtype(at::kDouble).device(outputs.device());
  const int64_t own = objective_->sum_count(outputs.size(1)) - kOwn;
  at::Tensor batch = at::full({kOwn + own}, targets.size(0), options);  // the examples
  batch.select(0, kLossSum).copy_(loss_sum);
  objective.sum_up(outputs, targets, batch.narrow(0, kOwn, own));
  add(values_, std::move(batch));
}

void MetricSums::add_sums(const ObjectiveInfo& objective, const std::vector<double>& sums) {
  add_sums(objective, at::tensor(sums, at::kDouble));
}

void MetricSums::add_sums(const ObjectiveInfo& objective, at::Tensor sums) {
  settle(0);
  objective_ = &objective;
  add(values_, std::move(sums));
}

at::Tensor& MetricSums::values() {
  settle(0);
  if (values_.defined()) values_ = values_.to(at::kDouble);
  return values_;
}

void MetricSums::add_pending(const ObjectiveInfo& objective, std::shared_future<std::vector<double>> sums) {
  objective_ = &objective;
  pending_.push_back(std::move(sums));
  settle(kMostPending);
}

void MetricSums::settle(size_t left) const {
  while (pending_.size() > left) {
    const std::shared_future<std::vector<double>> sums = std::move(pending_.front());
    pending_.pop_front();
    add(values_, at::tensor(sums.get(), at::kDouble));
  }
}

void MetricSums::add_evaluated(const Objective& objective, const at::Tensor& outputs,
                               const at::Tensor& targets, bool keeps_rows) {
  add_batch(objective, outputs, targets, objective.evaluation_loss(outputs, targets));
  const at::NoGradGuard no_grad;
  add(counts_, objective.count(outputs, targets));
  if (!keeps_rows) return;
  rows_.emplace_back([&objective, outputs, own = targets.clone()] {
    std::vector<at::Tensor> row = {objective.evaluation_losses(outputs, own), own, outputs};
    for (at::Tensor& part : row) part = (part.dim() == 1 ? part.unsqueeze(1) : part).to(at::kFloat);
    return at::cat(row, 1);
  });
}

void MetricSums::add(const MetricSums& other) {
  if (!other.values_.defined() && other.pending_.empty()) return;
  objective_ = other.objective_;
  if (other.values_.defined()) settle(0);  // what was added first is added up first
  const auto add_values = [](at::Tensor& to, const at::Tensor& values) {
    if (to.defined() && values.defined() && to.device() == values.device()) {
      to.add_(values);
    } else if (values.defined()) {
      const at::ScalarType wide = values.is_floating_point() ? at::kDouble : values.scalar_type();
      add(to, values.to(wide, /*non_blocking=*/false, /*copy=*/true));
    }
  };
  add_values(values_, other.values_);
  add_values(counts_, other.counts_);
  rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
  pending_.insert(pending_.end(), other.pending_.begin(), other.pending_.end());
  settle(kMostPending);
}

MetricSums MetricSums::rows_of(std::vector<MetricSums> rows) {
  MetricSums sums;
  std::vector<at::Tensor> values;
  for (MetricSums& row : rows) {
    values.push_back(row.values());
    add(sums.counts_, std::move(row.counts_));
    sums.rows_.insert(sums.rows_.end(), row.rows_.begin(), row.rows_.end());
  }
  sums.objective_ = rows.front().objective_;
  sums.values_ = at::stack(values);
  return sums;
}

void MetricSums::add(at::Tensor& to, at::Tensor&& values) {
  if (!values.defined()) return;
  if (!to.defined()) {
    to = std::move(values);
  } else if (to.device() == values.device()) {
    to.add_(values);
  } else {
    to = values.add_(to.to(values.device()));
  }
}

Counts MetricSums::counted() const {
  if (!counts_.defined()) return {};
  const at::Tensor counts = counts_.cpu().contiguous();
  const int64_t* const first = counts.const_data_ptr<int64_t>();
  return {counts.size(0), {first, first + counts.numel()}};
}

double MetricSums::at(int64_t index) const {
  const at::Tensor value = values_.select(-1, index);
  return (value.dim() == 0 ? value : value.sum()).item<double>();
}

int64_t MetricSums::examples() const {
  return settled().defined() ? static_cast<int64_t>(at(kExamplesSum)) : 0;
}

double MetricSums::loss() const {
  return settled().defined() ? at(kLossSum) / at(kExamplesSum) : std::nan("");
}

std::vector<double> MetricSums::host_values() const {
  const at::Tensor values = settled().to(at::kCPU, at::kDouble);
  const double* const first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

std::map<std::string, double> MetricSums::named() const {
  std::map<std::string, double> named;
  if (!settled().defined()) return named;
  const std::vector<double> values = host_values();
  const std::vector<std::string> names = objective_->sum_names(ExampleSums(*objective_, values).outputs());
  for (size_t i = 0; i < names.size(); ++i) named[names[i]] = values[i];
  return named;
}

std::vector<MetricValues> MetricSums::metrics_of_outputs() const {
  std::vector<MetricValues> of_outputs;
  if (!settled().defined()) return of_outputs;
  const ExampleSums all(*objective_, host_values());
  for (int64_t output = 0; output < all.outputs(); ++output) {
    of_outputs.push_back(metrics_from(*objective_, all.of_output(output)));
    std::erase_if(of_outputs.back(), [](const auto& metric) { return metric.first == "loss"; });
  }
  return of_outputs;
}

MetricValues MetricSums::metrics() const {
  if (!settled().defined()) return {};
  MetricValues metrics = metrics_from(*objective_, ExampleSums(*objective_, host_values()));
  const MetricValues counted_ones = objective_->values_of(counted());
  metrics.insert(metrics.end(), counted_ones.begin(), counted_ones.end());
  return metrics;
}

}  // namespace dtrain
