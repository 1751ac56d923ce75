#include "callbacks/kept_examples.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <numeric>

#include "core/checksum.h"
#include "metrics/events.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

int64_t targets_of(const JobPlan& job) { return std::max<int64_t>(1, job.data.targets); }

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.cpu().contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

}  // namespace

bool has_example_results(const JobPlan& job) { return !objective_info(job.spec.train.loss.kind).is_step; }

bool are_too_many(const JobPlan& job, int64_t examples) {
  return examples > kMostKeptExamples ||
         examples * (1 + targets_of(job) + job.model.output_shape().at(0)) > kMostKeptNumbers;
}

void add_rows(const at::Tensor& rows, std::span<const int64_t> indices, int64_t count, at::Tensor& all) {
  if (!rows.defined()) return;
  if (!all.defined()) all = at::zeros({count, rows.size(1)}, rows.options());
  all.index_copy_(0, at::tensor(at::IntArrayRef(indices.data(), indices.size())).to(rows.device()), rows);
}

ExampleResults results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum) {
  const ObjectiveInfo& info = objective_info(job.spec.train.loss.kind);
  const int64_t targets = targets_of(job), outputs = sum.size(1) - 1 - targets;
  return {.loss = info.base.empty() ? info.name : info.base,
          .part = part,
          .targets = targets,
          .outputs = outputs,
          .losses = values_of(sum.select(1, 0)),
          .wanted = values_of(sum.narrow(1, 1, targets)),
          .given = values_of(sum.narrow(1, 1 + targets, outputs))};
}

std::string identity_of(const JobPlan& job, const ExampleResults& results, const ExampleSource& source) {
  std::string text =
      fmt::format("{} {} {} {}", job.data.name, job.data.content, results.part, results.size());
  const bool is_split = results.part != kTestPart || job.spec.data.split.test;
  for (const auto& field : job_fields()) {
    if (is_split && field.path.starts_with("data.split.")) text += " " + to_json(field, job.spec).dump();
  }
  std::vector<int64_t> indices(results.size());
  std::iota(indices.begin(), indices.end(), int64_t{0});
  Checksum checksum;
  for (const ExampleName& name : source.names_of(indices)) {
    const std::string title = title_of(name);
    checksum.add(title.c_str(), title.size() + 1);
  }
  checksum.add(results.wanted.data(), results.wanted.size() * sizeof(float));
  return text + " " + checksum.text();
}

}  // namespace dtrain
