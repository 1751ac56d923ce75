#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/report_problems.h"
#include "core/error.h"
#include "core/files.h"
#include "export/onnx.h"
#include "export/torchscript.h"
#include "inference/evaluation.h"
#include "inference/find_checkpoint.h"

namespace dtrain {
namespace {

// What a program needs to know to use the weights.
Metadata description(const JobPlan& job, const TrainingState& state) {
  const DataSpec& data = job.spec.data;
  return {{"format", "pt"},
          {"dtrain", state.dtrain},
          {"name", job.spec.name},
          {"step", std::to_string(state.step)},
          {"input", fmt::format("(pixel / 255 - {}) / {}, [batch, {}]", data.mean, data.standard_deviation,
                                fmt::join(job.data.image_shape, ", "))},
          {"model", print_spec(job.spec)}};
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
  const ResumePoint point = find_checkpoint(options.checkpoint);
  report_warnings(point.warnings, std::cerr);
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
  if (options.format == "onnx") {
    write_file_atomically(path,
                          onnx_model(job.model, job.spec.data, job.data.image_shape, model, job.spec.name));
  } else if (options.format == "torchscript") {
    write_file_atomically(path, torchscript_model(job.model, job.spec.data, model));
  } else {
    write_safetensors_file(path, model, description(job, point.state));
  }
  std::cout << fmt::format("{}: the model of {} as {}\n", path.string(), point.checkpoint.string(),
                           options.format);
  return ExitCode::kDone;
}

}  // namespace dtrain
