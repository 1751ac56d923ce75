#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>

#include "checkpoint/checkpoint.h"
#include "commands/commands.h"
#include "commands/shared.h"
#include "core/terminal.h"
#include "core/text.h"
#include "data/table_dataset.h"
#include "inference/evaluation.h"
#include "inference/output.h"
#include "inference/prediction.h"
#include "metrics/event.h"
#include "pictures/image_folder.h"
#include "tables/csv_file.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

// A line of a table. A terminal would obey some characters, which files keep.
std::string shown(const std::string& line) {
  return is_terminal(STDOUT_FILENO) ? printable_lines(line, line.size()) : line;
}

// Reports the files that cannot be predicted; the others can still be.
ExitCode for_each_file(const std::vector<std::string>& files, const PredictOptions& options,
                       const std::function<void(const std::string&)>& predict) {
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : files) {
    try {
      predict(file);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kData) throw;
      code = ExitCode::kData;
      report_failure(std::string("dtrain: ") + error.what());
      if (options.json) std::cout << event_text(Event{{"file", file}, {"error", error.what()}}) << '\n';
    }
  }
  return code;
}

// Of a model of numbers: refuses pictures and folders.
void require_table(const std::string& file, const DatasetInfo& data) {
  if (!is_picture_name(file) && !std::filesystem::is_directory(file)) return;
  std::vector<std::string> columns;
  for (size_t i = 0; data.name == "csv" && i < table_format_of(data).inputs.size(); ++i)
    columns.push_back(table_format_of(data).inputs[i].name);
  throw Error(ExitCode::kData, "{}: no table, and this model takes {}", printable(file, 1000),
              columns.empty() ? ".npy files" : "CSV files with the columns " + printable(join(columns)));
}

// Predicts the rows of tables, and prints a table.
void predict_rows(const Predictor& predictor, const PredictOptions& options, const std::string& file) {
  const std::vector<std::string> columns = predicted_columns(predictor.job.data);
  const auto warn = [](const std::string& line) { report_warnings({line}); };
  predict_table_file(predictor, file, warn, [&](const RowPrediction& predicted) {
    std::vector<std::string> cells;
    Event line = {{"file", file}, {"row", predicted.row}};
    auto column = columns.begin();
    if (predicted.name) {
      cells.push_back(*predicted.name);
      line[*column++] = *predicted.name;
    }
    for (const double number : predicted.numbers) {
      cells.push_back(fmt::format("{:.7g}", number));
      line[*column++] = number;
    }
    if (options.json)
      std::cout << event_text(line) << '\n';
    else
      std::cout << shown(csv_line(cells));
  });
}

ExitCode predict_pictures(const Predictor& predictor, const PredictOptions& options,
                          const std::vector<std::string>& files) {
  const DatasetInfo& data = predictor.job.data;
  size_t width = 0;
  for (const std::string& file : files) width = std::max(width, printable(file, 1000).size());
  const int64_t top = options.csv ? data.classes : options.top;
  ExitCode below = ExitCode::kDone;
  const ExitCode code = for_each_file(files, options, [&](const std::string& file) {
    if (std::error_code none; std::filesystem::is_directory(file, none)) {
      const PicturesBelow found = pictures_below(file);
      if (!found.left_out.empty())
        report_warnings({printable(file, 1000) + ": " + left_out_text(found.left_out)});
      below = std::max(below, predict_pictures(predictor, options, found.files));
      return;
    }
    predict_picture_file(predictor, file, options.resize, top, [&](const Prediction& prediction) {
      std::cout << (options.csv    ? shown(prediction_row(file, data, prediction))
                    : options.json ? event_text(prediction_document(file, data, prediction)) + "\n"
                                   : prediction_text(file, width, data, prediction));
    });
  });
  return std::max(code, below);
}

}  // namespace

ExitCode predict_command(const PredictOptions& options) {
  const auto opened = open_checkpoint(options.checkpoint, {}, describe_dataset);
  if (!opened) return ExitCode::kUsage;
  const auto& [point, job] = *opened;
  const std::string& loss = job.spec.train.loss.kind;
  if (objective_info(loss).is_step)
    throw Error(
        ExitCode::kUsage,
        "the model was trained by the step '{}' of a plug-in, and only that knows what its outputs mean",
        loss);
  if (options.threshold && objective_info(loss).outputs != Outputs::kYesNoLogits)
    throw Error(ExitCode::kUsage, "--threshold is for models of {}, and this one's loss is {}; leave it out",
                join(objectives_with(Outputs::kYesNoLogits), " or "), loss);
  const Predictor predictor{job, trained_model(job, load_model(point.checkpoint)), options.threshold};
  if (!job.data.has_pixels) {
    if (!options.json) std::cout << shown(csv_line(predicted_columns(job.data)));
    return for_each_file(options.files, options, [&](const std::string& file) {
      require_table(file, predictor.job.data);
      predict_rows(predictor, options, file);
    });
  }
  if (options.csv) std::cout << shown(prediction_heading(job.data));
  return predict_pictures(predictor, options, options.files);
}

}  // namespace dtrain
