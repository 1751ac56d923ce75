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
    const std::vector<PlacedLayer>& placed = plan.layers;
    for (size_t i = 0; i < placed.size(); ++i) {
      const bool rectified =
          placed[i].spec.kind == "relu" && i + 1 < placed.size() && placed[i + 1].spec.kind == "max_pool2d";
      if (rectified) ++i;  // one module does both
      layers_.push_back(register_module(
          placed[i].name, rectified ? make_rectified_max_pool2d(placed[i]) : make(placed[i], weights)));
    }
  }
  at::Tensor forward(at::Tensor input) override {
    for (const auto& layer : layers_) input = layer->forward(input);
    return input;
  }
  void synchronise(const GatherRows& gather) override {
    for (const auto& layer : layers_) layer->synchronise(gather);
  }

 private:
  static std::shared_ptr<Layer> make(const PlacedLayer& placed, WeightMaker& weights) {
    return find_layer_kind(placed.spec.kind)->make(placed, weights);
  }

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
