#include "inference/model_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "metrics/event.h"
#include "spec/normalisation.h"
#include "spec/print.h"

namespace dtrain {
namespace {

// The names of the classes in order; of a dataset without names their numbers.
Event class_names(const DatasetInfo& data) {
  Event names = Event::array();
  for (int64_t label = 0; label < data.classes; ++label) names.push_back(class_name(data, label));
  return names;
}

}  // namespace

std::vector<std::string> target_names(const DatasetInfo& data) {
  if (!data.target_names.empty()) return data.target_names;
  std::vector<std::string> names;
  for (int64_t target = 0; target < data.targets; ++target) names.push_back(fmt::format("target_{}", target));
  return names;
}

Metadata model_description(const JobPlan& job, const TrainingState& state) {
  Metadata metadata = {{"dtrain", state.dtrain},
                       {"name", job.spec.name},
                       {"step", std::to_string(state.step)},
                       {"dataset", job.data.name},
                       {"model", print_spec(job.spec)}};
  if (job.data.classes > 0) metadata["classes"] = event_text(class_names(job.data));
  if (job.data.targets > 0) metadata["targets"] = event_text(target_names(job.data));
  if (!job.data.table.empty()) metadata["table"] = job.data.table;
  const std::string shape = fmt::format("[batch, {}]", fmt::join(job.data.example_shape, ", "));
  if (!job.data.has_pixels) {
    metadata["input"] = "numbers, " + shape;
    return metadata;
  }
  const Normalisation by = normalisation_of(job.spec.data);
  metadata["mean"] = text_of(by.mean);
  metadata["standard_deviation"] = text_of(by.standard_deviation);
  metadata["input"] =
      fmt::format("(pixel / 255 - {}) / {}, {}", metadata["mean"], metadata["standard_deviation"], shape);
  metadata["layout"] = "NCHW";
  return metadata;
}

}  // namespace dtrain
