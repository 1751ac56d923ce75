#include "inference/model_description.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codecs/image_file.h"
#include "core/error.h"
#include "core/range.h"
#include "core/text.h"
#include "data/split.h"
#include "host/cores.h"
#include "images/fit.h"
#include "inference/evaluation.h"
#include "inference/find_checkpoint.h"
#include "job_file/print.h"
#include "metrics/event.h"
#include "parallel/parallel_blocks.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

// The names of the classes in order; of a dataset without names their numbers.
Event class_names(const DatasetInfo& data) {
  Event names = Event::array();
  for (int64_t label = 0; label < data.classes; ++label) names.push_back(class_name(data, label));
  return names;
}

constexpr int64_t kMostPredicted = 10'000;  // test examples
constexpr size_t kMostMistakes = 24;
constexpr int64_t kLargestSide = 96;  // of a picture, in pixels: larger images are made smaller

// What a page can show of an example of pixels: one channel or three, of a small size.
at::Tensor picture_of(const ExampleSource& examples, int64_t index) {
  const at::Tensor image = read_rows(examples, {index, index + 1}).inputs[0];  // [channels, height, width]
  const at::Tensor shown = image.narrow(0, 0, image.size(0) == 3 ? 3 : 1);
  return std::max(image.size(1), image.size(2)) <= kLargestSide ? shown
                                                                : with_longer_side(shown, kLargestSide);
}

std::vector<LayerRow> layers_of(const JobPlan& job) {
  std::vector<LayerRow> rows;
  for (const PlacedLayer& layer : job.model.layers)
    rows.push_back({layer.name, layer.spec.kind,
                    layer.output_shape.empty() ? "" : to_string(layer.output_shape), layer.parameters});
  return rows;
}

std::vector<std::string> titles_of(const DatasetInfo& data) {
  std::vector<std::string> titles = data.target_names;
  for (int64_t label = 0; label < data.classes; ++label) titles.push_back(class_title(data, label));
  return titles;
}

// Of a job without classes, or with too many for a matrix, nothing.
void add_mistakes(ModelReport& report, const ResumePoint& point) {
  const PlannedJob planned =
      job_of_checkpoint(point.checkpoint, spec_of_checkpoint(point.checkpoint), find_dataset);
  const JobPlan& job = planned.job;
  if (!planned.ok() || job.data.classes == 0 || job.data.classes > kMostConfusedClasses) return;
  const std::string doubt = doubt_about_examples(job, point.state, "test");
  if (!doubt.empty()) throw Error(ExitCode::kData, doubt);
  compute_with(available_cores());
  ExampleSourcePtr examples = load_examples(job);
  if (examples->size() > kMostPredicted)
    examples = make_selection(examples, consecutive<int64_t>(0, kMostPredicted));
  const auto model = trained_model(job, load_model(point.checkpoint));
  const Evaluation found =
      evaluation_from(evaluate_model(job, *model, examples, *make_single_group(), kMostMistakes), job);
  report.examined =
      fmt::format("the checkpoint of step {}: {} of {} are right", with_separators(point.state.step),
                  with_separators(found.correct()), counted(found.examples, "test example"));
  report.classes = titles_of(job.data);
  report.confusion = found.confusion;
  for (const WrongExample& wrong : found.mistakes) {
    const bool shown = examples->has_pixels();
    report.mistakes.push_back({title_of(wrong.name),
                               shown ? png_file(picture_of(*examples, wrong.index)) : "",
                               class_title(job.data, wrong.label), class_title(job.data, wrong.prediction),
                               wrong.probability, wrong.of_label});
  }
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

ModelReport model_report_of(const std::filesystem::path& run, bool alone, bool mistakes) {
  ModelReport report;
  try {
    const JobPlan job = read_plan(run / "plan.json");
    report.layers = layers_of(job);
    report.classes = titles_of(job.data);
  } catch (const Error&) {  // made by another version, or never planned
  }
  if (!alone) return report;
  try {
    if (mistakes) add_mistakes(report, find_checkpoint({run.string(), false, std::nullopt}));
  } catch (const Error& error) {
    report.problems.push_back(std::string("the page has no confusion matrix and no mistakes: ") +
                              error.what());
  }
  try {
    report.results = read_examples(run / kExamplesFile);
  } catch (const Error& error) {
    report.problems.push_back(std::string("the page has no calibration and no thresholds: ") + error.what());
  }
  return report;
}

}  // namespace dtrain
