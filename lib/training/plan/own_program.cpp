#include "plan/own_program.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "crypto/crypto.h"
#include "models/model.h"
#include "plugins/plugin_kinds.h"
#include "torchscript/script_program.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostProgramBytes = int64_t{32} << 30;  // of a file

std::string checked_bytes(const std::string& path, const std::string& sha256) {
  std::string bytes = read_file(path, kMostProgramBytes, ExitCode::kUsage);
  const std::string found = hexadecimal(dtrain::sha256(bytes));
  if (sha256.empty() || found == sha256) return bytes;
  throw Error(ExitCode::kUsage,
              "{}: is not the file that the job began with: its SHA-256 is {}, and model.sha256 is {}", path,
              found, sha256);
}

bool has_sha256(const fs::path& path, const std::string& sha256) {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(path, none))) return false;
  try {
    return hexadecimal(sha256_of_file(path)) == sha256;
  } catch (const Error&) {  // cannot be read
    return false;
  }
}

}  // namespace

std::string program_file(const ModelSpec& spec) {
  if (spec.sha256 && !spec.kept_file.empty()) {
    if (has_sha256(spec.kept_file, *spec.sha256)) return spec.kept_file;
    for (const fs::path& checkpoint : paths_in(fs::path(spec.kept_file).parent_path() / "checkpoints")) {
      if (has_sha256(checkpoint / kProgramFile, *spec.sha256)) return checkpoint / kProgramFile;
    }
  }
  return spec.file.value_or("");
}

LayerPlan place_program(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                        const std::string& needed_for, bool any_outputs) {
  if (!spec.has_file()) return place_plugin_model(spec, input_shape, outputs, needed_for, any_outputs);
  const std::string path = program_file(spec);
  ScriptSource source{path, spec.sha256.value_or(""), {}, spec.output, needed_for};
  if (needed_for.empty()) source.needs = fmt::format("{} classes need", outputs);
  try {
    if (source.sha256.empty()) source.sha256 = hexadecimal(sha256(checked_bytes(path, "")));
    if (spec.sha256 && path == spec.file) checked_bytes(path, *spec.sha256);
  } catch (const Error& error) {
    LayerPlan plan;
    const std::string copy =
        spec.kept_file.empty() ? "" : kept_program(fs::path(spec.kept_file).parent_path());
    plan.problems.push_back(
        {0, copy.empty()
                ? error.what()
                : fmt::format("{}; the copy {} is not of that file, or is damaged: put the file with "
                              "this model.sha256 in its place",
                              error.what(), copy)});
    return plan;
  }
  // The file may be another by then: the folder of a run may be removed while it trains.
  source.read = [spec, sha256 = source.sha256] { return checked_bytes(program_file(spec), sha256); };
  return place_script(source, dtype_from_name(spec.dtype), input_shape, outputs);
}

std::string kept_program(const fs::path& folder) {
  std::error_code none;
  const fs::path path = folder / kProgramFile;
  return fs::is_regular_file(fs::symlink_status(path, none)) ? path.string() : "";
}

std::optional<std::string> sha256_of_program(const LayerPlan& model) {
  const auto* const program = dynamic_cast<const ScriptProgram*>(model.program.get());
  return program == nullptr ? std::nullopt : std::optional(program->source().sha256);
}

fs::path keep_program(const JobPlan& job, const fs::path& folder) {
  const auto* const program = dynamic_cast<const ScriptProgram*>(job.model.program.get());
  if (program == nullptr) return {};
  const fs::path path = folder / kProgramFile;
  const std::string kept = kept_program(folder);
  if (kept.empty() || hexadecimal(sha256_of_file(kept)) != program->source().sha256)
    write_file_atomically(path, program->source().read());
  return path;
}

}  // namespace dtrain
