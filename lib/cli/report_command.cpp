#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/find_checkpoint.h"
#include "core/files.h"
#include "core/text.h"
#include "data/image_file.h"
#include "inference/evaluation.h"
#include "inference/mistakes.h"
#include "plan/plan_file.h"
#include "report/report.h"
#include "report/sweep_report.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostPredicted = 10'000;  // test examples
constexpr size_t kMostPictures = 24;
constexpr int64_t kMostSweepBytes = int64_t{64} << 20;
constexpr int64_t kLargestSide = 96;  // of a picture, in pixels: larger images are made smaller

std::vector<LayerRow> layers_of(const JobPlan& job) {
  std::vector<LayerRow> rows;
  for (const PlacedLayer& layer : job.model.layers)
    rows.push_back({layer.name, layer.spec.kind, to_string(layer.output_shape), layer.parameters});
  return rows;
}

// What a page can show: one channel or three, of a small size.
at::Tensor picture_of(const at::Tensor& image) {
  const int64_t channels = image.size(0) == 3 ? 3 : 1;
  const at::Tensor shown = image.narrow(0, 0, channels);
  const int64_t side = std::max(image.size(1), image.size(2));
  if (side <= kLargestSide) return shown;
  return fit_images(shown.unsqueeze(0),
                    {channels, std::max<int64_t>(1, image.size(1) * kLargestSide / side),
                     std::max<int64_t>(1, image.size(2) * kLargestSide / side)},
                    /*resize=*/true)[0];
}

// Predicts the test examples with the run's newest good checkpoint.
void add_mistakes(ModelReport& report, const std::string& folder) {
  const ResumePoint point = find_checkpoint(folder);
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.checkpoint, {}, find_dataset, loaded);
  if (!loaded.ok() || job.data.classes > kMostConfusedClasses) return;
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

// A run without checkpoints or data has a page all the same.
ModelReport model_report_of(const std::string& folder, bool with_mistakes) {
  ModelReport report;
  try {
    report.layers = layers_of(read_plan(fs::path(folder) / "plan.json"));
  } catch (const Error&) {  // made by another version, or never planned
  }
  if (!with_mistakes) return report;
  try {
    add_mistakes(report, folder);
  } catch (const Error& error) {
    std::cerr << "dtrain: the page has no confusion matrix and no mistakes: " << printable(error.what(), 2000)
              << std::endl;
  }
  return report;
}

Sweep read_sweep(const fs::path& file) {
  const Event document = Event::parse(read_file(file, kMostSweepBytes, ExitCode::kUsage), nullptr,
                                      /*allow_exceptions=*/false);
  if (!document.is_object())
    throw Error(ExitCode::kUsage, fmt::format("{} is damaged; repeat the sweep", file.string()));
  return sweep_from(document);
}

std::string page_of(const ReportOptions& options) {
  const fs::path sweep = fs::path(options.runs.front()) / "sweep.json";
  if (options.runs.size() == 1 && fs::exists(sweep)) return sweep_page(read_sweep(sweep));
  std::vector<RunHistory> runs;
  std::vector<ModelReport> models;
  for (const std::string& folder : options.runs) {
    runs.push_back(read_run_history(folder));
    models.push_back(model_report_of(folder, !options.without_mistakes && options.runs.size() == 1));
  }
  return report_page(runs, models);
}

}  // namespace

ExitCode report_command(const ReportOptions& options) {
  const fs::path file = options.output.value_or("report.html");
  if (!options.overwrite && fs::exists(fs::symlink_status(file))) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("{} is there already: --overwrite replaces it, --output names another", file.string()));
  }
  write_file_atomically(file, page_of(options));
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
