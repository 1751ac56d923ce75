#include "traits/models.h"

#include <algorithm>

#include "core/error.h"

namespace dtrain {

bool ModelTraits::widens(int64_t depth) const {
  return std::find(widened_depths.begin(), widened_depths.end(), depth) != widened_depths.end();
}

const std::vector<ModelTraits>& model_traits() {
  static const std::vector<ModelTraits> all = {
      {.kind = "mlp"},
      {.kind = "cnn"},
      {.kind = "lenet5", .is_published = true},
      {.kind = "vgg", .depths = {11, 13, 16, 19}, .usual_depth = 16, .is_published = true},
      {.kind = "resnet",
       .depths = {18, 34, 50, 101},
       .usual_depth = 18,
       .is_published = true,
       .is_bottleneck = true},
      {.kind = "cifar_resnet", .depths = {20, 32, 44, 56, 110}, .usual_depth = 20, .is_published = true},
      {.kind = "wide_resnet",
       .depths = {16, 22, 28, 40, 50, 101},
       .usual_depth = 50,
       .is_published = true,
       .is_bottleneck = true,
       .widened_depths = {16, 22, 28, 40}},
      {.kind = "mobilenet_v2", .is_published = true},
      {.kind = "layers"},
  };
  return all;
}

const ModelTraits& model_traits(const std::string& kind) {
  for (const ModelTraits& traits : model_traits()) {
    if (traits.kind == kind) return traits;
  }
  throw Error(ExitCode::kBug, "no model named '" + kind + "'");
}

std::vector<std::string> models_where(const std::function<bool(const ModelTraits&)>& holds) {
  std::vector<std::string> names;
  for (const ModelTraits& traits : model_traits()) {
    if (holds(traits)) names.push_back(traits.kind);
  }
  return names;
}

}  // namespace dtrain
