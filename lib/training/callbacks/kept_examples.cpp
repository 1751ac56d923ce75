#include "callbacks/kept_examples.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/checksum.h"
#include "metrics/events.h"
#include "objective/objective.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

int64_t targets_of(const JobPlan& job) { return std::max<int64_t>(1, job.data.targets); }

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kFloat).contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

// Two evaluations with the same text were of the same examples: of a dataset of this name, divided alike,
// with the same targets in the same order. Not their place, which may differ between hosts.
std::string identity_of(const JobPlan& job, const ExampleResults& results) {
  std::string text =
      fmt::format("{} {} {} {}", job.data.name, job.data.content, results.part, results.size());
  for (const auto& field : job_fields()) {
    if (field.path.starts_with("data.split.")) text += " " + to_json(field, job.spec).dump();
  }
  Checksum targets;
  targets.add(results.wanted.data(), results.wanted.size() * sizeof(float));
  return text + " " + targets.text();
}

}  // namespace

KeptExamples::KeptExamples(const JobPlan& job, int64_t examples)
    : examples_(examples), numbers_(targets_of(job) + job.model.output_shape().at(0)) {}

bool KeptExamples::are_kept() const {
  return examples_ <= kMostKeptExamples && examples_ * (numbers_ + 1) <= kMostKeptNumbers;
}

void KeptExamples::add(const std::vector<at::Tensor>& rows, std::span<const int64_t> indices) {
  if (rows.empty() || !are_kept()) return;
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  indices_.insert(indices_.end(), indices.begin(), indices.end());
}

at::Tensor KeptExamples::placed() const {
  at::Tensor all = at::zeros({examples_, 1 + numbers_}, at::kFloat);
  if (rows_.empty()) return all;
  const at::Tensor rows = at::cat(rows_).cpu();
  const at::Tensor indices = at::tensor(indices_, at::kLong);
  all.index_copy_(0, indices, at::cat({at::ones({rows.size(0), 1}, at::kFloat), rows}, 1));
  return all;
}

std::optional<ExampleResults> results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum) {
  const at::NoGradGuard no_grad;
  const ObjectiveInfo& info = objective_info(job.spec.train.loss.kind);
  if (info.is_step || sum.numel() == 0 || !sum.select(1, 0).eq(1).all().item<bool>()) return std::nullopt;
  const int64_t targets = targets_of(job);
  const at::Tensor wanted = sum.narrow(1, 1, targets),
                   given = sum.narrow(1, 1 + targets, sum.size(1) - 1 - targets);
  const bool classes = job.data.classes > 0;
  const at::Tensor losses =
      make_objective(job.spec.train)
          ->evaluation_losses(given, classes ? wanted.squeeze(1).to(at::kLong) : wanted);
  ExampleResults results{.loss = info.base.empty() ? info.name : info.base,
                         .part = part,
                         .targets = targets,
                         .outputs = given.size(1),
                         .losses = values_of(losses),
                         .wanted = values_of(wanted),
                         .given = values_of(given)};
  results.examples = identity_of(job, results);
  return results;
}

}  // namespace dtrain
