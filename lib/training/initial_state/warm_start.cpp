#include "initial_state/warm_start.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "addresses/fetched_files.h"
#include "architectures/architectures.h"
#include "checkpoint/checkpoint.h"
#include "core/addresses.h"
#include "core/error.h"
#include "core/text.h"
#include "crypto/crypto.h"
#include "initial_state/resume.h"
#include "models/variables.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNamed = 10;  // variables in one line

// What a file of weights has.
struct WeightsFile {
  fs::path path;
  Variables variables;
  Metadata metadata = {};
};

WeightsFile of_export(const fs::path& path, bool outlines) {
  const SafetensorsFile file(path);
  WeightsFile found{path, {}, file.metadata()};
  for (const TensorEntry& entry : file.tensors()) {
    const auto options = at::TensorOptions(entry.dtype).device(at::kMeta);
    found.variables.emplace_back(entry.name, outlines ? at::empty(entry.shape, options) : file.read(entry));
  }
  return found;
}

// The file or folder that the spec names; what is at an address is fetched.
fs::path here(const JobSpec& spec) {
  const std::string& path = *spec.model.weights;
  if (!is_address(path)) return path;
  return fetch_files(path, spec.data.cache_gigabytes, [](const std::string&) { return true; }).place;
}

// The variables at `path`; as outlines they have types and sizes, but no values.
WeightsFile weights_at(const fs::path& path, bool outlines) {
  std::error_code none;
  if (!fs::exists(path, none)) {
    throw Error(ExitCode::kCheckpoint,
                "model.weights: {}: there is no such file or folder; give a run, a checkpoint, or a "
                ".safetensors file of dtrain export or scripts/convert_weights",
                path.string());
  }
  const std::string suffix = path.extension().string();
  if (suffix == ".pth" || suffix == ".pt" || suffix == ".h5" || suffix == ".keras") {
    throw Error(ExitCode::kCheckpoint,
                "model.weights: {} is a file of PyTorch or Keras; scripts/convert_weights {} "
                "weights.safetensors makes one that can be read here",
                path.string(), path.filename().string());
  }
  if (!fs::is_directory(path, none)) return of_export(path, outlines);
  const fs::path checkpoint = find_resume_point(path.string(), {}).checkpoint;
  return {checkpoint / "model.safetensors", outlines ? outline_of_model(checkpoint) : load_model(checkpoint)};
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return printable(text, 4000);
}

// How the names of the variables in a file of weights become those of a job's model.
class WeightNames {
 public:
  explicit WeightNames(const JobPlan& job) {
    const Architecture model = architecture_of(job.spec.model, /*outputs=*/1);
    size_t placed = 0;  // an activation within a layer is a layer of its own there
    for (size_t i = 0; i < model.layers.size(); ++i) {
      const std::string& name = job.model.layers.at(placed).name;
      if (!model.torchvision[i].empty()) own_names_[model.torchvision[i]] = name;
      if (i >= model.head) head_.insert(name);
      placed += activation_of(model.layers[i]) ? 2 : 1;
    }
    for (const PlacedLayer& layer : job.model.layers) {
      if (layer.spec.kind == "positional_embedding") positions_.insert(layer.name);
    }
    ModelSpec whole = job.spec.model;
    whole.include_top = true;
    for (const std::string& name : architecture_of(whole, /*outputs=*/1).torchvision) {
      if (!name.empty() && own_names_.count(name) == 0) left_out_.insert(name);
    }
  }

  // "layer1.0.bn1" of "layer1.0.bn1.weight".
  static std::string layer_of(const std::string& variable) {
    const size_t dot = variable.rfind('.');
    return dot == std::string::npos ? "" : variable.substr(0, dot);
  }

  // Whether one of the model's variables is of its head (Architecture::head).
  bool is_of_head(const std::string& variable) const { return head_.contains(layer_of(variable)); }
  bool is_of_positions(const std::string& variable) const { return positions_.contains(layer_of(variable)); }
  // Whether `variable` belongs to the network's own top, by torchvision's name, and the model is without it.
  bool is_of_left_out_top(const std::string& variable) const {
    return left_out_.contains(layer_of(variable));
  }
  // Gives variables with torchvision's names the model's, and leaves out its counts of batches, which nothing
  // needs. Does nothing and returns false if they have other names.
  bool translate(const Model& model, Variables& variables) const {
    const Variables own = named_variables(model);
    const auto is_own = [&](const auto& variable) {
      return std::ranges::any_of(own, [&](const auto& one) { return one.first == variable.first; });
    };
    const auto is_known = [&](const auto& variable) { return !own_name(variable.first).empty(); };
    if (std::ranges::any_of(variables, is_own)) return false;
    if (std::ranges::none_of(variables, is_known)) return false;
    Variables translated;
    for (const auto& [name, tensor] : variables) {
      if (name.ends_with(".num_batches_tracked")) continue;
      const std::string own_of_it = own_name(name);
      translated.emplace_back(own_of_it.empty() ? name : own_of_it, tensor);
    }
    variables = std::move(translated);
    return true;
  }

 private:
  // The model's name of torchvision's variable; empty if no layer has one of this name. A layer's only
  // variable may have the name of the layer, and a part of a layer may have variables: "out_proj.weight".
  std::string own_name(const std::string& variable) const {
    if (const auto found = own_names_.find(variable); found != own_names_.end())
      return found->second + ".weight";
    for (size_t dot = variable.rfind('.'); dot != std::string::npos && dot > 0;
         dot = variable.rfind('.', dot - 1)) {
      const auto found = own_names_.find(variable.substr(0, dot));
      if (found == own_names_.end()) continue;
      std::string own = variable.substr(dot + 1);
      std::ranges::replace(own, '.', '_');
      return found->second + "." + own;
    }
    return "";
  }

  std::map<std::string, std::string> own_names_;  // by torchvision's name of a layer
  std::set<std::string> head_, positions_;        // the model's names of layers
  std::set<std::string> left_out_;                // torchvision's names
};

// How the model's variables and those of a file go together.
struct Match {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // the model's, the file's
  std::vector<std::string> initial;                      // of the model, outside of the prefix
  std::vector<std::string> new_head;                     // of the model, with how the file's differ
  std::vector<std::string> unused;                       // of the file
  std::vector<std::string> problems;
  bool has_other_positions = false;  // those of the file are of another number of tokens
};

// Whether two variables of a layer differ in its number of outputs alone.
bool differ_in_outputs(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.dim() == other.dim() && one.dim() > 0 &&
         one.size(0) != other.size(0) && one.sizes().slice(1) == other.sizes().slice(1);
}

class Matcher {
 public:
  Matcher(const JobPlan& job, const Model& model, WeightsFile weights)
      : spec_(job.spec.model), names_(job), prefix_(spec_.weights_prefix.value_or("")) {
    is_translated_ = names_.translate(model, weights.variables);
    left_ = {weights.variables.begin(), weights.variables.end()};
    const Variables own = named_variables(model);
    for (const auto& [name, tensor] : own) {
      if (may_be_new(name, tensor)) new_layers_.insert(WeightNames::layer_of(name));
    }
    for (const auto& [name, tensor] : own) match(name, tensor);
    sort_the_rest(weights);
  }

  Match result;

 private:
  // Why the file's variable of this name cannot be the model's, or an empty string.
  std::string misfit(const std::string& name, const at::Tensor& own) const {
    const auto found = left_.find(name);
    if (found == left_.end()) return name + " is not in the file";
    const at::Tensor& theirs = found->second;
    if (theirs.sizes() == own.sizes() && theirs.scalar_type() == own.scalar_type()) return "";
    return fmt::format("{} is {} in the file, {} here", name, outline_text(theirs), outline_text(own));
  }

  // Whether a variable does not fit and need not: it is of the head, and what is in the file is for other
  // outputs or for nothing here.
  bool may_be_new(const std::string& name, const at::Tensor& own) const {
    if (!names_.is_of_head(name) || misfit(name, own).empty()) return false;
    const auto found = left_.find(name);
    return !spec_.include_top ||
           (found == left_.end() ? is_translated_ : differ_in_outputs(own, found->second));
  }

  void match(const std::string& name, const at::Tensor& own) {
    if (name.rfind(prefix_, 0) != 0) {
      result.initial.push_back(name);
      return;
    }
    const std::string why = misfit(name, own);
    if (new_layers_.count(WeightNames::layer_of(name)) > 0) {
      result.new_head.push_back(why.empty() ? name : why);
    } else if (why.empty()) {
      result.pairs.emplace_back(own, left_.at(name));
    } else {
      result.problems.push_back(why);
      const auto found = left_.find(name);
      if (names_.is_of_positions(name) && found != left_.end() && found->second.dim() == own.dim() &&
          found->second.size(1) != own.size(1))
        result.has_other_positions = true;
    }
    left_.erase(name);
  }

  // What of the file is not used, and whether that is a problem.
  void sort_the_rest(const WeightsFile& weights) {
    std::vector<std::string> unknown;
    for (const auto& [name, unused] : left_) {
      result.unused.push_back(name);
      if (!names_.is_of_left_out_top(name)) unknown.push_back(name);
    }
    if (prefix_.empty() && !unknown.empty())
      result.problems.push_back(fmt::format("the model has no {}", listed(unknown)));
    if (!prefix_.empty() && result.pairs.empty() && result.problems.empty())
      result.problems.push_back(fmt::format("no variable of the model begins with '{}'; it has {}",
                                            printable(prefix_), listed(result.initial)));
    if (result.pairs.empty() && result.problems.empty())
      result.problems.push_back("nothing of it would be used: " + listed(result.new_head));
    // The sizes do not tell the two kinds of bottlenecks apart; the script that converts weights notes it.
    const auto stride = weights.metadata.find("bottleneck_stride");
    if (stride != weights.metadata.end() && stride->second != spec_.bottleneck_stride)
      result.problems.push_back(
          fmt::format("its bottlenecks have their stride elsewhere; set model.bottleneck_stride: {}",
                      printable(stride->second)));
  }

  const ModelSpec& spec_;
  WeightNames names_;
  std::string prefix_;
  bool is_translated_ = false;
  std::set<std::string> new_layers_;  // of the model's head; all of such a layer keeps its initial values
  std::map<std::string, at::Tensor> left_;  // of the file
};

Match require_match(const JobPlan& job, const Model& model, WeightsFile weights) {
  Match result = Matcher(job, model, std::move(weights)).result;
  if (result.problems.empty()) return result;
  std::string text =
      fmt::format("model.weights: {} does not fit the model:", printable(*job.spec.model.weights, 1000));
  for (const std::string& problem : result.problems) text += "\n  " + problem;
  if (result.has_other_positions)
    text +=
        "\nthe positions are those of another number of patches: data.image.size (or data.shape) and the "
        "patch must be as for the weights";
  else if (!job.spec.model.weights_prefix)
    text += "\nto take only some of them, set model.weights_prefix to what their names begin with";
  throw Error(ExitCode::kCheckpoint, text);
}

}  // namespace

void require_weights(const JobPlan& job) {
  const ModelSpec& model = job.spec.model;
  if (!model.weights) return;
  require_match(job, *outline_model(job.model, dtype_from_name(model.dtype)),
                weights_at(here(job.spec), /*outlines=*/true));
}

std::optional<WeightsRead> start_from_weights(const JobPlan& job, Model& model) {
  if (!job.spec.model.weights) return std::nullopt;
  const at::NoGradGuard no_grad;
  const std::string& from = *job.spec.model.weights;
  WeightsFile weights = weights_at(here(job.spec), /*outlines=*/false);
  WeightsRead read;
  read.file = is_address(from) ? from : weights.path.string();
  read.sha256 = hexadecimal(sha256_of_file(weights.path));
  const Match found = require_match(job, model, std::move(weights));
  for (const auto& [own, theirs] : found.pairs) own.copy_(theirs);
  const size_t variables = found.pairs.size() + found.initial.size() + found.new_head.size();
  read.lines = {fmt::format("{} of the model's {} variables start from {} (SHA-256 {})", found.pairs.size(),
                            variables, printable(from, 1000), read.sha256)};
  if (!found.new_head.empty())
    read.lines.push_back("the head keeps its initial values: " + listed(found.new_head));
  if (!found.initial.empty())
    read.lines.push_back("these keep their initial values: " + listed(found.initial));
  if (!found.unused.empty()) read.lines.push_back("these of the file are not used: " + listed(found.unused));
  return read;
}

}  // namespace dtrain
