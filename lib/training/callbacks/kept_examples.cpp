#include "callbacks/kept_examples.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/checksum.h"
#include "core/range.h"
#include "metrics/events.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

int64_t targets_of(const JobPlan& job) { return std::max<int64_t>(1, job.data.targets); }

}  // namespace

std::string why_not_kept(const JobPlan& job, int64_t examples) {
  if (objective_info(job.spec.train.loss.kind).is_step)
    return "the step of a plug-in has no results of single examples";
  const int64_t numbers = 1 + targets_of(job) + job.model.output_shape().at(0);
  return examples > kMostKeptExamples || examples * numbers > kMostKeptNumbers ? kTooManyExamples : "";
}

at::Tensor placed_rows(const MetricSums::Rows& rows, const std::vector<int64_t>& indices, int64_t count) {
  if (rows.empty()) return {};
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> made;
  for (const auto& make : rows) made.push_back(make());
  const at::Tensor own = at::cat(made), all = at::zeros({count, own.size(1)}, own.options());
  return all.index_copy_(0, at::tensor(indices, at::kLong).to(own.device()), own);
}

ExampleResults results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum) {
  const ObjectiveInfo& info = objective_info(job.spec.train.loss.kind);
  const int64_t targets = targets_of(job);
  const std::vector<at::Tensor> columns =
      sum.cpu().split_with_sizes({1, targets, sum.size(1) - 1 - targets}, 1);
  return {.loss = info.base.empty() ? info.name : info.base,
          .part = part,
          .losses = columns[0].squeeze(1).contiguous(),
          .targets = columns[1].contiguous(),
          .outputs = columns[2].contiguous()};
}

std::string identity_of(const JobPlan& job, const ExampleResults& results, const ExampleSource& source) {
  std::string text =
      fmt::format("{} {} {} {}", job.data.name, job.data.content, results.part, results.size());
  const bool is_split = results.part != kTestPart || job.spec.data.split.test;
  for (const auto& field : job_fields()) {
    if (is_split && field.path.starts_with("data.split.")) text += " " + to_json(field, job.spec).dump();
  }
  Checksum checksum;
  for (const ExampleName& name : source.names_of(consecutive<int64_t>(0, results.size()))) {
    const std::string title = title_of(name);
    checksum.add(title.c_str(), title.size() + 1);
  }
  checksum.add(results.targets.const_data_ptr(), results.targets.nbytes());
  return text + " " + checksum.text();
}

}  // namespace dtrain
