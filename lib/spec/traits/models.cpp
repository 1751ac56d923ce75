#include "traits/models.h"

#include <algorithm>

#include "core/named.h"
#include "core/remade_table.h"

namespace dtrain {

bool ModelTraits::widens(int64_t depth) const {
  return std::find(widened_depths.begin(), widened_depths.end(), depth) != widened_depths.end();
}

namespace {

std::vector<ModelTraits>& added_models() {
  static std::vector<ModelTraits> added;
  return added;
}

const std::vector<ModelTraits>& all_models() {
  return remade([] {
    std::vector<ModelTraits> all = {
        {.name = "mlp"},
        {.name = "cnn"},
        {.name = "lenet5", .is_published = true},
        {.name = "vgg", .depths = {11, 13, 16, 19}, .usual_depth = 16, .is_published = true},
        {.name = "resnet",
         .depths = {18, 34, 50, 101},
         .usual_depth = 18,
         .is_published = true,
         .is_bottleneck = true},
        {.name = "cifar_resnet", .depths = {20, 32, 44, 56, 110}, .usual_depth = 20, .is_published = true},
        {.name = "wide_resnet",
         .depths = {16, 22, 28, 40, 50, 101},
         .usual_depth = 50,
         .is_published = true,
         .is_bottleneck = true,
         .widened_depths = {16, 22, 28, 40}},
        {.name = "mobilenet_v2", .is_published = true},
        {.name = "vit", .is_published = true},
        {.name = "layers", .is_own = true},
        {.name = "torchscript", .is_own = true, .is_program = true},
    };
    all.insert(all.end(), added_models().begin(), added_models().end());
    return all;
  });
}

}  // namespace

void add_model(const std::string& name) {
  added_models().push_back({.name = name, .is_own = true, .is_program = true});
  ++kinds_added;
}

const ModelTraits& model_traits(const std::string& kind) { return row_named(all_models(), kind, "model"); }

std::vector<std::string> models_where(const std::function<bool(const ModelTraits&)>& holds) {
  return names_where(all_models(), holds);
}

}  // namespace dtrain
