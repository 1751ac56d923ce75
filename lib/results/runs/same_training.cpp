#include "runs/same_training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

bool lists_layers(const std::string& path) { return path == "model.layers" || path == "model.head"; }

// Of a model's layers, what changes neither their variables nor what they compute from them.
std::string text_of_layers(const JobSpec& spec, const std::string& path) {
  nlohmann::ordered_json layers = to_json(*find_field(job_fields(), path), spec);
  for (auto& layer : layers) {
    for (const char* name : {"initializer", "rate"}) layer.erase(name);
  }
  return layers.dump();
}

// Which optimizer each parameter has.
std::string text_of_optimizers(const JobSpec& spec) {
  std::string text;
  for (const OptimizerEntry& entry : spec.train.optimizers)
    text += entry.parameters + " " + entry.optimizer.kind + "\n";
  return text;
}

std::string change(const Field<JobSpec>& field, const JobSpec& now, const JobSpec& saved) {
  if (lists_layers(field.path)) return field.path + " has other layers";
  if (field.path == "model.sha256" && now.model.sha256 && saved.model.sha256)
    return fmt::format("model.file has other bytes: their SHA-256 is {}, and was {}", *now.model.sha256,
                       *saved.model.sha256);
  const auto text = [&field](const JobSpec& spec) {
    const nlohmann::ordered_json value = to_json(field, spec);
    return value.is_null() ? "not set" : printable(value.dump());
  };
  return fmt::format("{} is {}, and was {}", field.path, text(now), text(saved));
}

}  // namespace

std::vector<std::string> changed_fields(const JobSpec& now, const JobSpec& saved) {
  std::vector<std::string> changes;
  for (const auto& field : job_fields()) {
    if (to_json(field, now) != to_json(field, saved)) changes.push_back(change(field, now, saved));
  }
  return changes;
}

std::vector<std::string> different_training(const JobSpec& now, const JobSpec& saved) {
  std::vector<std::string> differences;
  const auto differ = [&](const std::string& path) {
    if (lists_layers(path)) return text_of_layers(now, path) != text_of_layers(saved, path);
    if (path == "train.optimizers") return text_of_optimizers(now) != text_of_optimizers(saved);
    const auto* field = find_field(job_fields(), path);
    return to_json(*field, now) != to_json(*field, saved);
  };
  for (const auto& field : job_fields()) {
    const bool of_model = field.path.rfind("model.", 0) == 0 && field.path != "model.dropout" &&
                          field.path != "model.initializer" && field.path != "model.file" &&
                          field.path.rfind("model.weights", 0) != 0 && applies(job_fields(), field, now) &&
                          applies(job_fields(), field, saved);
    const bool of_training = field.path == "train.loss.kind" || field.path == "train.optimizer.kind" ||
                             field.path == "train.optimizers" || field.path == "plugin_versions";
    if ((!of_model && !of_training) || !differ(field.path)) continue;
    differences.push_back(change(field, now, saved));
  }
  return differences;
}

bool has_same_order(const JobSpec& now, const JobSpec& saved) {
  return saved.seed == now.seed && saved.data.shuffle == now.data.shuffle &&
         saved.data.sampling == now.data.sampling && saved.data.drop_remainder == now.data.drop_remainder;
}

}  // namespace dtrain
