// eval, predict and export: commands that use a model.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "callbacks/kept_examples.h"
#include "checkpoint/checkpoint.h"
#include "commands/commands.h"
#include "commands/shared.h"
#include "core/addresses.h"
#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "csv/csv_file.h"
#include "data/table_dataset.h"
#include "export/exports.h"
#include "inference/model_description.h"
#include "inference/output.h"
#include "inference/prediction.h"
#include "metrics/event.h"
#include "pictures/image_folder.h"
#include "plan/job_plan.h"
#include "runs/finished_run.h"
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
  for (size_t i = 0; has_columns(data.name) && i < table_format_of(data).inputs.size(); ++i)
    columns.push_back(table_format_of(data).inputs[i].name);
  throw Error(
      ExitCode::kData, "{}: no table, and this model takes {}", printable(file, 1000),
      columns.empty() ? ".npy files" : "CSV or Parquet files with the columns " + printable(join(columns)));
}

// Predicts the rows of tables, and prints a table.
void predict_rows(const Predictor& predictor, const PredictOptions& options, const std::string& file) {
  const std::vector<std::string> columns = predicted_columns(predictor.job);
  const auto warn = [](const std::string& line) { report_warnings({line}); };
  for (const std::string& column : columns)
    if (options.json && (column == "file" || column == "row"))
      throw Error(ExitCode::kUsage, "with --json, '{0}' is the {0} that a line is about: leave out --json",
                  column);
  predict_table_file(predictor, file, warn, [&](const RowPrediction& predicted) {
    std::vector<std::string> cells(options.files.size() > 1 ? 1 : 0, file);
    Event line = {{"file", file}, {"row", predicted.row}};
    auto column = columns.begin();
    for (const std::optional<std::string>& text : {predicted.id, predicted.name}) {
      if (!text) continue;
      cells.push_back(*text);
      line[*column++] = *text;
    }
    for (const double number : predicted.numbers) {
      cells.push_back(fmt::format("{:.7g}", number));
      line[*column++] = number;
    }
    std::cout << (options.json ? event_text(line) + "\n" : shown(csv_line(cells)));
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

// The metadata, with what has to be done before and after a model that is a program.
ExportForm form_of(const ExportOptions& options, const JobPlan& job, Metadata description) {
  ExportForm form{.uint8 = options.uint8,
                  .softmax = options.softmax,
                  .pixels = job.data.has_pixels,
                  .outputs = objective_info(job.spec.train.loss.kind).outputs,
                  .metadata = std::move(description)};
  if (form.outputs == Outputs::kValues && form.softmax)
    throw Error(ExitCode::kUsage, "--softmax: the model gives numbers, and no probabilities");
  if (!form.pixels && form.uint8)
    throw Error(ExitCode::kUsage, "--uint8: the model takes numbers, and no pixels");
  if (form.pixels) form.metadata["normalisation"] = "inside of the model: pixels are given as 0 to 255";
  form.metadata["output"] = form.output();
  return form;
}

// Options that the format has no use for are errors.
void require_fitting(const ExportOptions& options) {
  if (options.uint8 && options.format == "torchscript")
    throw Error(ExitCode::kUsage, "--uint8: a TorchScript model takes pixels of any type as it is");
  if ((options.uint8 || options.softmax) && options.format == "safetensors")
    throw Error(ExitCode::kUsage,
                "--uint8, --softmax: a safetensors file has weights and no computation; use --format onnx");
}

}  // namespace

ExitCode eval_command(const EvalOptions& options) {
  EvaluationJob evaluation = options.evaluation;
  if (const auto& data = options.data) {
    const std::string path = is_address(*data) ? *data : std::filesystem::absolute(*data).string();
    evaluation.overrides.set.push_back("data.path=" + nlohmann::json(path).dump());  // JSON is YAML
  }
  auto* const find = options.data ? find_dataset : find_dataset_of_run;
  auto opened = open_checkpoint(options.checkpoint, evaluation.overrides, find);
  if (opened && prepare_data(opened->job.data, opened->job.spec.data, /*quiet=*/options.json))
    opened = open_checkpoint(options.checkpoint, evaluation.overrides, find);
  if (!opened) return ExitCode::kUsage;
  const auto& [point, job] = *opened;
  if (evaluation.mistakes > 0 && job.data.classes == 0)
    throw Error(ExitCode::kUsage,
                "--mistakes is for models of classes, and this one predicts numbers; leave it out");
  evaluation.checkpoint = point.checkpoint;
  if (options.checkpoint.best) evaluation.best_by = *deciding_metric(job.spec).metric;
  report_warnings(data_warnings(job));
  const std::string doubt = doubt_about_examples(job, point.state, evaluation.split);
  if (!doubt.empty()) report_warnings({doubt});
  Evaluation result;
  const SuperviseResult ended = evaluate(evaluation, job, result);
  if (ended.code != ExitCode::kDone) {
    report_failure(ended.message);
    return ended.code;
  }
  if (why_not_kept(job, result.examples) == kTooManyExamples) report_warnings({kTooManyExamples});
  std::cout << (options.json ? event_text(evaluation_document(evaluation, job, result), 2) + "\n"
                             : evaluation_text(evaluation, job, result, width_limit(STDOUT_FILENO)));
  return ExitCode::kDone;
}

ExitCode eval_replica_command(const EvalOptions& options) {
  EvaluationJob evaluation = options.evaluation;
  evaluation.checkpoint = options.checkpoint.path;
  return run_evaluation_replica(evaluation);
}

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
    std::vector<std::string> columns = predicted_columns(job);
    if (options.files.size() > 1) columns.insert(columns.begin(), "file");
    if (!options.json) std::cout << shown(csv_line(columns));
    return for_each_file(options.files, options, [&](const std::string& file) {
      require_table(file, predictor.job.data);
      predict_rows(predictor, options, file);
    });
  }
  if (options.csv) std::cout << shown(prediction_heading(job.data));
  return predict_pictures(predictor, options, options.files);
}

ExitCode export_command(const ExportOptions& options) {
  require_fitting(options);
  const auto opened = open_checkpoint(options.checkpoint, {}, describe_dataset);
  if (!opened) return ExitCode::kUsage;
  const auto& [point, job] = *opened;
  if (job.spec.model.is_program() && !job.spec.model.has_file() && options.format != "safetensors")
    throw Error(ExitCode::kUsage,
                "a {} model is computed by its plug-in, which no export holds; --format safetensors has its "
                "weights",
                job.spec.model.kind);
  const std::string extension = options.format == "torchscript" ? "pt" : options.format;
  const std::filesystem::path path = options.out.value_or(fmt::format(
      "{}{}.{}", job.spec.name, job.spec.model.is_program() ? "-trained" : "", extension));  // not model.file
  if (!options.overwrite) require_absent(path, "--out names another");
  const NamedTensors model = load_model(point.checkpoint);
  Metadata metadata = model_description(job, point.state);
  std::string content;
  if (options.format == "onnx") {
    content = onnx_model(job.model, job.spec.data, job.data.example_shape, model, job.spec.name,
                         form_of(options, job, std::move(metadata)));
  } else if (options.format == "torchscript") {
    content = torchscript_model(job.model, job.spec.data, model, form_of(options, job, std::move(metadata)));
  } else {
    metadata["format"] = "pt";  // what PyTorch's readers of safetensors look for
    content = safetensors_bytes(model, metadata);
  }
  write_output(path, content, "--out");
  std::cout << printable_lines(
      fmt::format("{}: the model of {} as {}", path.string(), point.checkpoint.string(), options.format));
  return ExitCode::kDone;
}

}  // namespace dtrain
