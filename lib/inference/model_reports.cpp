#include "inference/model_reports.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "images/fit.h"
#include "images/image_file.h"
#include "inference/evaluation.h"
#include "inference/find_checkpoint.h"
#include "inference/mistakes.h"
#include "plan/plan_file.h"

namespace dtrain {
namespace {

constexpr int64_t kMostPredicted = 10'000;  // test examples
constexpr size_t kMostPictures = 24;
constexpr int64_t kLargestSide = 96;  // of a picture, in pixels: larger images are made smaller

// What a page can show: one channel or three, of a small size.
at::Tensor picture_of(const at::Tensor& image) {
  const int64_t channels = image.size(0) == 3 ? 3 : 1;
  const at::Tensor shown = image.narrow(0, 0, channels);
  const int64_t side = std::max(image.size(1), image.size(2));
  if (side <= kLargestSide) return shown;
  return fit_images(shown.unsqueeze(0),
                    {channels, std::max<int64_t>(1, image.size(1) * kLargestSide / side),
                     std::max<int64_t>(1, image.size(2) * kLargestSide / side)},
                    Fit::kStretch)[0];
}

std::vector<LayerRow> layers_of(const JobPlan& job) {
  std::vector<LayerRow> rows;
  for (const PlacedLayer& layer : job.model.layers)
    rows.push_back({layer.name, layer.spec.kind, to_string(layer.output_shape), layer.parameters});
  return rows;
}

// Of a job without classes, or with too many for a matrix, nothing.
void add_mistakes(ModelReport& report, const ResumePoint& point) {
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.checkpoint, {}, find_dataset, loaded);
  if (!loaded.ok() || job.data.classes == 0 || job.data.classes > kMostConfusedClasses) return;
  const Mistakes found = find_mistakes(job, point.checkpoint, kMostPredicted, kMostPictures);
  report.examined =
      fmt::format("the checkpoint of step {}: {} of {} are right", with_separators(point.state.step),
                  with_separators(found.correct), counted(found.examples, "test example"));
  for (int64_t label = 0; label < job.data.classes; ++label)
    report.classes.push_back(class_title(job.data, label));
  report.confusion = found.confusion;
  for (const WrongExample& wrong : found.worst) {
    report.mistakes.push_back({wrong.index, png_file(picture_of(wrong.image)),
                               class_title(job.data, wrong.label), class_title(job.data, wrong.prediction),
                               wrong.probability, wrong.of_label});
  }
}

}  // namespace

ModelReport model_report_of(const std::filesystem::path& run, bool mistakes) {
  ModelReport report;
  try {
    report.layers = layers_of(read_plan(run / "plan.json"));
  } catch (const Error&) {  // made by another version, or never planned
  }
  if (!mistakes) return report;
  try {
    add_mistakes(report, find_checkpoint({run.string(), false, std::nullopt}));
  } catch (const Error& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace dtrain
