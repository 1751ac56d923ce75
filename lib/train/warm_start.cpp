#include "train/warm_start.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/text.h"
#include "models/variables.h"
#include "train/assembly.h"
#include "train/resume.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNamed = 10;  // variables in one line

Variables of_export(const fs::path& path, bool outlines) {
  const SafetensorsFile file(path);
  Variables found;
  for (const TensorEntry& entry : file.tensors()) {
    const auto options = at::TensorOptions(entry.dtype).device(at::kMeta);
    found.emplace_back(entry.name, outlines ? at::empty(entry.shape, options) : file.read(entry));
  }
  return found;
}

// The variables at `path`; as outlines they have types and sizes, but no values.
Variables weights_at(const fs::path& path, bool outlines) {
  std::error_code none;
  if (!fs::exists(path, none)) {
    throw Error(
        ExitCode::kCheckpoint,
        fmt::format("model.weights: {}: there is no such file or folder; give a run, a checkpoint, or a "
                    ".safetensors file of dtrain export",
                    path.string()));
  }
  if (!fs::is_directory(path, none)) return of_export(path, outlines);
  const fs::path checkpoint = find_resume_point(path.string(), {}).checkpoint;
  return outlines ? outline_of_model(checkpoint) : load_model(checkpoint);
}

std::string outline_text(const at::Tensor& tensor) {
  return fmt::format("{} {}", at::toString(tensor.scalar_type()), fmt::streamed(tensor.sizes()));
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return printable(text, 4000);
}

// How the model's variables and those of a file go together.
struct Match {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // the model's, the file's
  std::vector<std::string> initial;                      // of the model, outside of the prefix
  std::vector<std::string> unused;                       // of the file
  std::vector<std::string> problems;
};

Match match(const Model& model, const Variables& weights, const std::string& prefix) {
  Match result;
  std::map<std::string, at::Tensor> left(weights.begin(), weights.end());
  for (const auto& [name, own] : named_variables(model)) {
    if (name.rfind(prefix, 0) != 0) {
      result.initial.push_back(name);
      continue;
    }
    const auto found = left.find(name);
    if (found == left.end()) {
      result.problems.push_back(fmt::format("it has no '{}'", name));
      continue;
    }
    const at::Tensor& theirs = found->second;
    if (theirs.sizes() == own.sizes() && theirs.scalar_type() == own.scalar_type()) {
      result.pairs.emplace_back(own, theirs);
    } else {
      result.problems.push_back(
          fmt::format("its '{}' is {}, the model's {}", name, outline_text(theirs), outline_text(own)));
    }
    left.erase(found);
  }
  for (const auto& [name, unused] : left) result.unused.push_back(name);
  if (prefix.empty() && !result.unused.empty())
    result.problems.push_back(fmt::format("the model has no {}", listed(result.unused)));
  if (!prefix.empty() && result.pairs.empty() && result.problems.empty())
    result.problems.push_back(fmt::format("no variable of the model begins with '{}'; it has {}",
                                          printable(prefix), listed(result.initial)));
  return result;
}

Match require_match(const JobPlan& job, const Model& model, const Variables& weights) {
  Match result = match(model, weights, job.spec.model.weights_prefix.value_or(""));
  if (result.problems.empty()) return result;
  std::string text =
      fmt::format("model.weights: {} does not fit the model:", printable(*job.spec.model.weights, 1000));
  for (const std::string& problem : result.problems) text += "\n  " + problem;
  if (!job.spec.model.weights_prefix)
    text += "\nto take only some of them, set model.weights_prefix to what their names begin with";
  throw Error(ExitCode::kCheckpoint, text);
}

}  // namespace

void require_weights(const JobPlan& job) {
  const ModelSpec& model = job.spec.model;
  if (!model.weights) return;
  require_match(job, *outline_model(job.model, dtype_from_name(model.dtype)),
                weights_at(*model.weights, /*outlines=*/true));
}

std::vector<std::string> start_from_weights(const JobPlan& job, Model& model) {
  if (!job.spec.model.weights) return {};
  const at::NoGradGuard no_grad;
  const std::string& from = *job.spec.model.weights;
  const Match found = require_match(job, model, weights_at(from, /*outlines=*/false));
  for (const auto& [own, theirs] : found.pairs) own.copy_(theirs);
  std::vector<std::string> lines = {fmt::format("{} of the model's {} variables start from {}",
                                                found.pairs.size(), found.pairs.size() + found.initial.size(),
                                                printable(from, 1000))};
  if (!found.initial.empty()) lines.push_back("these keep their initial values: " + listed(found.initial));
  if (!found.unused.empty()) lines.push_back("these of the file are not used: " + listed(found.unused));
  return lines;
}

}  // namespace dtrain
