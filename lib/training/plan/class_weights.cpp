#include "plan/class_weights.h"

#include <ATen/ops/bincount.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace dtrain {

ClassWeights resolve_class_weights(LoadedSpec& loaded, const DatasetInfo& data) {
  constexpr const char* kPath = "train.loss.class_weights";
  const ClassWeights& asked = loaded.spec.train.loss.class_weights;
  const auto refuse = [&](const std::string& path, const std::string& text) {
    loaded.refuse(path, text);
    return asked;
  };
  if (data.classes == 0 && (asked.balanced || !asked.names.empty()))
    return refuse(kPath, fmt::format("needs classes, and the targets of {} are numbers; give two weights, of "
                                     "the targets 0 and 1",
                                     data.name));
  const auto count = std::ssize(asked.weights);
  if (asked.names.empty() && data.classes > 0 && count > 0 && count != data.classes)
    return refuse(kPath, fmt::format("has {} entries for {} classes", count, data.classes));
  if (asked.names.empty()) return asked;
  std::vector<std::string> known;
  for (int64_t label = 0; label < data.classes; ++label) known.push_back(class_name(data, label));
  ClassWeights resolved{.weights = std::vector<double>(known.size(), 1)};
  for (size_t i = 0; i < asked.names.size(); ++i) {
    const auto at = std::ranges::find(known, asked.names[i]);
    if (at == known.end())
      return refuse(
          fmt::format("{}.{}", kPath, printable(asked.names[i], 60)),
          fmt::format("no class of {} has this name{}", data.name, did_you_mean(asked.names[i], known)));
    resolved.weights[static_cast<size_t>(at - known.begin())] = asked.weights[i];
  }
  return resolved;
}

std::vector<double> balanced_weights(const at::Tensor& labels, int64_t classes) {
  const at::Tensor counts = at::bincount(labels, {}, classes);
  const int64_t* const count = counts.const_data_ptr<int64_t>();
  const auto present = classes - std::count(count, count + classes, 0);
  std::vector<double> weights;
  for (int64_t label = 0; label < classes; ++label)
    weights.push_back(count[label] == 0 ? 0
                                        : static_cast<double>(labels.size(0)) /
                                              static_cast<double>(present * count[label]));
  return weights;
}

std::string balanced_line(const DatasetInfo& data, const std::vector<double>& weights) {
  constexpr size_t kMostTold = 20;
  std::vector<std::string> told;
  for (size_t label = 0; label < std::min(weights.size(), kMostTold); ++label)
    told.push_back(fmt::format("{} {:.4g}", class_title(data, static_cast<int64_t>(label)), weights[label]));
  return fmt::format("balanced class weights: {}{}", join(told), weights.size() > kMostTold ? ", ..." : "");
}

}  // namespace dtrain
