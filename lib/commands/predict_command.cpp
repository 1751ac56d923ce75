#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>

#include "commands/checkpoint_job.h"
#include "commands/commands.h"
#include "commands/report_problems.h"
#include "core/text.h"
#include "inference/prediction.h"
#include "inference/table_prediction.h"
#include "metrics/event.h"
#include "tables/csv_file.h"

namespace dtrain {
namespace {

std::string title_of(const std::string& file, const Prediction& prediction) {
  return printable(file, 1000) + (prediction.index ? fmt::format("[{}]", *prediction.index) : "");
}

void print_text(const std::string& title, size_t width, const DatasetInfo& data,
                const Prediction& prediction) {
  std::cout << fmt::format("{:<{}}", title, width);
  for (const ClassProbability& one : prediction.classes)
    std::cout << fmt::format("  {} {:.4f}", class_title(data, one.label), one.probability);
  std::cout << '\n';
}

void print_json(const std::string& file, const DatasetInfo& data, const Prediction& prediction) {
  Event line = {{"file", file}};
  if (prediction.index) line["index"] = *prediction.index;
  line["predictions"] = Event::array();
  for (const ClassProbability& one : prediction.classes) {
    Event entry = {{"class", one.label}};
    if (!data.class_names.empty()) entry["name"] = data.class_names[static_cast<size_t>(one.label)];
    entry["probability"] = one.probability;
    line["predictions"].push_back(entry);
  }
  std::cout << event_text(line) << '\n';
}

// Reports the files that cannot be predicted; the others can still be.
ExitCode for_each_file(const PredictOptions& options,
                       const std::function<void(const std::string&)>& predict) {
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : options.files) {
    try {
      predict(file);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kData) throw;
      code = ExitCode::kData;
      report_failure(std::string("dtrain: ") + error.what(), std::cerr);
      if (options.json) std::cout << event_text(Event{{"file", file}, {"error", error.what()}}) << '\n';
    }
  }
  return code;
}

// Predicts the rows of tables, and prints a table.
void predict_rows(const TablePredictor& predictor, const PredictOptions& options, const std::string& file) {
  predictor.predict_file(file, [&](int64_t row, const std::vector<std::string>& cells) {
    if (!options.json) {
      std::cout << csv_line(cells);
      return;
    }
    Event line = {{"file", file}, {"row", row}};
    for (size_t i = 0; i < cells.size(); ++i) line[predictor.columns()[i]] = cells[i];
    std::cout << event_text(line) << '\n';
  });
}

}  // namespace

ExitCode predict_command(const PredictOptions& options) {
  const auto opened = open_checkpoint(options.checkpoint, {}, describe_dataset);
  if (!opened) return ExitCode::kUsage;
  const ResumePoint& point = opened->point;
  const JobPlan& job = opened->job;
  if (options.threshold && job.spec.train.loss.kind != "binary_cross_entropy")
    throw Error(ExitCode::kUsage,
                fmt::format("--threshold is for models of binary_cross_entropy, and this one's "
                            "loss is {}; leave it out",
                            job.spec.train.loss.kind));
  const NamedTensors variables = load_model(point.checkpoint);
  if (!job.data.has_pixels) {
    const TablePredictor predictor(job, variables, options.threshold);
    if (!options.json) std::cout << csv_line(predictor.columns());
    return for_each_file(options, [&](const std::string& file) { predict_rows(predictor, options, file); });
  }
  const Predictor predictor(job, variables, options.threshold);
  size_t width = 0;
  for (const std::string& file : options.files) width = std::max(width, printable(file, 1000).size());
  return for_each_file(options, [&](const std::string& file) {
    predictor.predict_file(file, options.resize, options.top, [&](const Prediction& prediction) {
      options.json ? print_json(file, job.data, prediction)
                   : print_text(title_of(file, prediction), width, job.data, prediction);
    });
  });
}

}  // namespace dtrain
