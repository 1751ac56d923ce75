#include "models/model.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

class Chain final : public Model {
 public:
  Chain(const LayerPlan& plan, WeightMaker weights) {
    for (const PlacedLayer& placed : plan.layers) {
      layers_.push_back(
          register_module(placed.name, find_layer_kind(placed.spec.kind)->make(placed, weights)));
    }
  }
  at::Tensor forward(at::Tensor input) override {
    for (const auto& layer : layers_) input = layer->forward(input);
    return input;
  }

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace

std::shared_ptr<Model> build_model(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) {
  if (!plan.problems.empty())
    throw Error(ExitCode::kBug, "a model with problems was built: " + plan.problems[0].text);
  return std::make_shared<Chain>(plan, WeightMaker(seed, dtype));
}

at::ScalarType dtype_from_name(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  throw Error(ExitCode::kUsage, fmt::format("unknown dtype '{}'; known: float32, float64", printable(name)));
}

}  // namespace dtrain
