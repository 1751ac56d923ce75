// Layers that are trained and layers that stay as they are.
#include <ATen/ATen.h>

#include "catch.h"
#include "copied_variables.h"
#include "layer_specs.h"
#include "models/model.h"
#include "models/variables.h"

namespace dtrain {
namespace {

// conv2d, batch_norm, relu, max_pool2d, flatten, dense
std::shared_ptr<Model> normed_network() {
  const std::vector<LayerSpec> layers = {conv2d(4),           layer("batch_norm"), layer("relu"),
                                         layer("max_pool2d"), layer("flatten"),    dense(3)};
  return build_model(place_layers(layers, {2, 6, 6}, 3), at::kDouble, /*seed=*/1);
}

at::Tensor some_pictures() {
  at::manual_seed(5);
  return at::randn({7, 2, 6, 6}, at::kDouble);
}

std::vector<std::string> variable_names(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : variables) names.push_back(name);
  return names;
}

const std::vector<bool> kOnlyDense = {false, false, false, false, false, true};

TEST_CASE("parameters of layers that are not trained get no gradient, and their statistics stay") {
  const auto model = normed_network();
  CHECK(trained_parameters(*model).size() == 6);
  CHECK(model->moving_buffers().size() == 2);
  model->train_layers({.each = kOnlyDense});
  CHECK(variable_names(trained_parameters(*model)) == std::vector<std::string>{"dense.weight", "dense.bias"});
  CHECK(model->moving_buffers().empty());
  const Variables before = copy_variables(*model);
  model->train();
  const at::Tensor inputs = some_pictures();
  const at::Tensor outputs = model->forward(inputs);
  outputs.sum().backward();
  for (const auto& [name, tensor] : named_variables(*model))
    CHECK(tensor.grad().defined() == (name.rfind("dense.", 0) == 0));
  const Variables after = named_variables(*model);
  for (size_t i = 0; i < before.size(); ++i) CHECK(at::equal(before[i].second, after[i].second));
  model->eval();
  CHECK(at::equal(model->forward(inputs), outputs));  // the moving statistics are used, not the batch's
  model->train_layers({});
  model->train();
  CHECK_FALSE(at::equal(model->forward(inputs), outputs));
  CHECK(trained_parameters(*model).size() == 6);
}

TEST_CASE("a model goes on from what its first layers have made, with the same bits") {
  const auto model = normed_network();
  const at::Tensor inputs = some_pictures();
  model->eval();
  const at::Tensor whole = model->forward(inputs);
  for (const int64_t first : {1, 2, 4, 5}) {
    INFO("from layer " << first);
    const at::Tensor features = model->features(inputs, first);
    CHECK_FALSE(features.requires_grad());
    std::vector<bool> trained(6, true);
    std::fill_n(trained.begin(), first, false);
    model->train_layers({.each = trained, .first = first});
    CHECK(model->first_layer() == first);
    model->eval();
    CHECK(at::equal(model->forward(features), whole));
    model->train_layers({});
    CHECK(at::equal(model->forward(inputs), whole));
  }
}

}  // namespace
}  // namespace dtrain
