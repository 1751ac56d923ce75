#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "commands/commands.h"
#include "commands/shared.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "export/exports.h"
#include "inference/model_description.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

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
  write_file_atomically(path, content, "--out");
  std::cout << printable_lines(
      fmt::format("{}: the model of {} as {}", path.string(), point.checkpoint.string(), options.format));
  return ExitCode::kDone;
}

}  // namespace dtrain
