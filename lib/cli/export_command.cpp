#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "cli/commands.h"
#include "cli/find_checkpoint.h"
#include "cli/report_problems.h"
#include "core/error.h"
#include "core/files.h"
#include "export/onnx.h"
#include "export/torchscript.h"
#include "inference/evaluation.h"

namespace dtrain {
namespace {

// The names of the classes in order; of a dataset without names their numbers.
Event class_names(const DatasetInfo& data) {
  Event names = Event::array();
  for (size_t label = 0; label < static_cast<size_t>(data.classes); ++label)
    names.push_back(data.class_names.empty() ? std::to_string(label) : data.class_names[label]);
  return names;
}

// What a program needs to know to use the model; all values are text.
Metadata description(const JobPlan& job, const TrainingState& state) {
  const DataSpec& data = job.spec.data;
  return {{"dtrain", state.dtrain},
          {"name", job.spec.name},
          {"step", std::to_string(state.step)},
          {"dataset", job.data.name},
          {"classes", event_text(class_names(job.data))},
          {"input", fmt::format("(pixel / 255 - {}) / {}, [batch, {}]", data.mean, data.standard_deviation,
                                fmt::join(job.data.image_shape, ", "))},
          {"layout", "NCHW"},
          {"mean", fmt::format("{}", data.mean)},
          {"standard_deviation", fmt::format("{}", data.standard_deviation)},
          {"model", print_spec(job.spec)}};
}

// The same, of a model that is a program: what has to be done before and after it.
ExportForm form_of(const ExportOptions& options, Metadata description) {
  ExportForm form{.uint8 = options.uint8, .softmax = options.softmax, .metadata = std::move(description)};
  form.metadata["normalisation"] = "inside of the model: pixels are given as 0 to 255";
  form.metadata["output"] = form.output();
  return form;
}

// Options that the format has no use for.
void require_fitting(const ExportOptions& options) {
  if (options.uint8 && options.format == "torchscript")
    throw Error(ExitCode::kUsage, "--uint8: a TorchScript model takes pixels of any type as it is");
  for (const auto& [given, name] :
       {std::pair(options.uint8, "--uint8"), std::pair(options.softmax, "--softmax")}) {
    if (given && options.format == "safetensors")
      throw Error(
          ExitCode::kUsage,
          fmt::format("{}: a safetensors file has weights and no computation; use --format onnx", name));
  }
}

void write_safetensors_file(const std::filesystem::path& path, const NamedTensors& model,
                            const Metadata& metadata) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  std::filesystem::remove(temporary);
  write_safetensors(temporary, model, metadata);
  std::filesystem::rename(temporary, path);
}

}  // namespace

ExitCode export_command(const ExportOptions& options) {
  require_fitting(options);
  const ResumePoint point = find_checkpoint(options.checkpoint);
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.checkpoint, {}, describe_dataset, loaded);
  if (!loaded.ok()) {
    report_problems(loaded.problems, std::cerr);
    return ExitCode::kUsage;
  }
  const std::string extension = options.format == "torchscript" ? "pt" : options.format;
  const std::filesystem::path path = options.out.value_or(fmt::format("{}.{}", job.spec.name, extension));
  if (!options.overwrite) require_absent(path, "--out names another");
  const NamedTensors model = load_model(point.checkpoint);
  Metadata metadata = description(job, point.state);
  if (options.format == "onnx") {
    write_file_atomically(path, onnx_model(job.model, job.spec.data, job.data.image_shape, model,
                                           job.spec.name, form_of(options, std::move(metadata))));
  } else if (options.format == "torchscript") {
    write_file_atomically(
        path, torchscript_model(job.model, job.spec.data, model, form_of(options, std::move(metadata))));
  } else {
    metadata["format"] = "pt";  // what PyTorch's readers of safetensors look for
    write_safetensors_file(path, model, metadata);
  }
  std::cout << fmt::format("{}: the model of {} as {}\n", path.string(), point.checkpoint.string(),
                           options.format);
  return ExitCode::kDone;
}

}  // namespace dtrain
