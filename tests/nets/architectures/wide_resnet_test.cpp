// Wide residual networks for small images: the published numbers of parameters, the layers, and what they
// compute, compared with the network written down once more in LibTorch's functions.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "architectures/architectures.h"
#include "catch.h"
#include "models/model.h"
#include "models/tensors.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

ModelSpec wide_resnet(int64_t depth, int64_t widen_factor) {
  ModelSpec spec;
  spec.kind = "wide_resnet";
  spec.depth = depth;
  spec.widen_factor = widen_factor;
  return spec;
}

LayerPlan plan_of(const ModelSpec& spec, int64_t side, int64_t classes) {
  LayerPlan plan = place_layers(expand_layers(spec, classes), {3, side, side}, classes);
  for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
  return plan;
}

TEST_CASE("wide residual networks have their published numbers of parameters") {
  struct Published {
    int64_t depth, widen_factor, parameters;
  };
  // The authors' table of CIFAR-10: 8.9 M, 11.0 M, 17.2 M and 36.5 M; to the last one those of their code.
  for (const Published& network : std::vector<Published>{{16, 4, 2'748'890},
                                                         {16, 8, 10'961'370},
                                                         {22, 8, 17'158'106},
                                                         {28, 10, 36'479'194},
                                                         {40, 2, 2'243'546},
                                                         {40, 4, 8'949'210}}) {
    INFO(network.depth << "-" << network.widen_factor);
    CHECK(plan_of(wide_resnet(network.depth, network.widen_factor), 32, 10).parameters() ==
          network.parameters);
  }
  ModelSpec usual;
  usual.kind = "wide_resnet";
  usual.depth = 28;
  CHECK(plan_of(usual, 32, 100).parameters() == 36'536'884);
}

TEST_CASE("a block normalises before it computes, and projects what is normalised where the shape changes") {
  const auto layers_after = [](int64_t widen_factor) {
    std::vector<std::string> list;
    const LayerPlan plan = plan_of(wide_resnet(16, widen_factor), 32, 10);
    for (size_t i = 0; i < 15; ++i) {
      const PlacedLayer& layer = plan.layers[i];
      std::string text = layer.spec.kind;
      if (layer.spec.kind == "conv2d") {
        const auto& own = layer.spec.own.get<ConvFields>();
        text += " " + std::to_string(own.filters) + " of " + std::to_string(own.kernel_size);
      }
      if (layer.spec.from) text += " from " + *layer.spec.from;
      if (layer.spec.kind == "add") text += " with " + *layer.spec.own.get<PairFields>().with;
      list.push_back(text);
    }
    return list;
  };
  CHECK(layers_after(4) ==
        std::vector<std::string>{"conv2d 16 of 3", "batch_norm", "relu", "conv2d 64 of 3", "batch_norm",
                                 "relu", "conv2d 64 of 3", "conv2d 64 of 1 from group1_block1_input",
                                 "add with group1_block1_body", "batch_norm", "relu", "conv2d 64 of 3",
                                 "batch_norm", "relu", "conv2d 64 of 3"});
  // With 16 filters in the first group, as many as before it, there is nothing to project.
  CHECK(layers_after(1) == std::vector<std::string>{"conv2d 16 of 3", "batch_norm", "relu", "conv2d 16 of 3",
                                                    "batch_norm", "relu", "conv2d 16 of 3", "add with stem",
                                                    "batch_norm", "relu", "conv2d 16 of 3", "batch_norm",
                                                    "relu", "conv2d 16 of 3", "add with group1_block1"});
}

TEST_CASE(
    "three groups halve the size twice, and end with a normalisation, relu, pooling and a dense layer") {
  const LayerPlan plan = plan_of(wide_resnet(22, 2), 32, 7);
  const auto shape_of = [&](const std::string& name) {
    for (const PlacedLayer& layer : plan.layers)
      if (layer.name == name) return layer.output_shape;
    return Shape{};
  };
  CHECK(shape_of("stem") == Shape{16, 32, 32});
  CHECK(shape_of("group1_block3") == Shape{32, 32, 32});
  CHECK(shape_of("group2_block3") == Shape{64, 16, 16});
  CHECK(shape_of("group3_block3") == Shape{128, 8, 8});
  CHECK(shape_of("group3_block4").empty());
  const auto& layers = plan.layers;
  std::vector<std::string> last;
  for (size_t i = layers.size() - 5; i < layers.size(); ++i) last.push_back(layers[i].spec.kind);
  CHECK(last == std::vector<std::string>{"add", "batch_norm", "relu", "global_avg_pool2d", "dense"});
  const auto biased = [](const PlacedLayer& layer) {
    return layer.spec.kind == "conv2d" && layer.spec.own.get<ConvFields>().use_bias;
  };
  CHECK(std::none_of(layers.begin(), layers.end(), biased));
}

TEST_CASE("the dropout of a wide residual network is between the convolutions of its blocks") {
  ModelSpec spec = wide_resnet(16, 2);
  spec.dropout = 0.3;
  const std::vector<LayerSpec> layers = expand_layers(spec, 10);
  int64_t found = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].kind != "dropout") continue;
    ++found;
    CHECK(layers[i].own.get<DropoutFields>().rate == 0.3);
    CHECK(layers.at(i - 1).kind == "relu");
    CHECK(layers.at(i + 1).kind == "conv2d");
  }
  CHECK(found == 6);
}

// The same network in LibTorch's functions, from variables by their names.
class Reference {
 public:
  explicit Reference(const Model& model) {
    for (const auto& item : model.named_parameters()) tensors_[item.key()] = item.value();
    for (const auto& item : model.named_buffers()) tensors_[item.key()] = item.value();
  }

  at::Tensor forward(const at::Tensor& images, int64_t blocks) {
    at::Tensor x = at::conv2d(images, tensors_.at("stem.weight"), {}, 1, 1);
    for (const int64_t stride : {1, 2, 2}) {
      for (int64_t block = 0; block < blocks; ++block) x = residual(x, block == 0, block == 0 ? stride : 1);
    }
    return at::linear(rectified(x).mean({2, 3}), tensors_.at("dense.weight"), tensors_.at("dense.bias"));
  }

 private:
  static std::string numbered(const std::string& kind, int64_t number) {
    return number == 0 ? kind : kind + "_" + std::to_string(number);
  }

  at::Tensor rectified(const at::Tensor& x) {
    const std::string name = numbered("batch_norm", norms_++);
    return at::relu(at::batch_norm(x, tensors_.at(name + ".weight"), tensors_.at(name + ".bias"),
                                   tensors_.at(name + ".running_mean"), tensors_.at(name + ".running_var"),
                                   /*training=*/false, 0.1, 1e-5, /*cudnn_enabled=*/false));
  }

  at::Tensor convolution(const at::Tensor& x, const std::string& name, int64_t stride, int64_t padding) {
    return at::conv2d(x, tensors_.at(name), {}, stride, padding);
  }

  at::Tensor residual(const at::Tensor& x, bool is_first, int64_t stride) {
    const at::Tensor activated = rectified(x);
    const at::Tensor inner = convolution(activated, next(), stride, 1);
    const at::Tensor body = convolution(rectified(inner), is_first ? body_of_block() : next(), 1, 1);
    const at::Tensor shortcut = is_first ? convolution(activated, next(), stride, 0) : x;
    return body + shortcut;
  }

  std::string next() { return numbered("conv2d", convolutions_++) + ".weight"; }
  std::string body_of_block() {
    ++convolutions_;  // a layer with a name of its own counts
    return "group" + std::to_string(++group_) + "_block1_body.weight";
  }

  std::map<std::string, at::Tensor> tensors_;
  int64_t norms_ = 0, convolutions_ = 1, group_ = 0;  // the stem is convolution 0
};

TEST_CASE("a wide residual network computes what its definition says") {
  const at::NoGradGuard no_grad;
  const auto model = build_model(plan_of(wide_resnet(16, 2), 16, 5), at::kDouble, 1);
  for (const auto& item : model->named_parameters())
    if (item.value().dim() == 1) item.value().uniform_(0.5, 1.5);
  for (const auto& item : model->named_buffers()) item.value().uniform_(0.5, 1.5);
  model->eval();
  const at::Tensor images = noise({3, 3, 16, 16});
  const at::Tensor expected = Reference(*model).forward(images, 2);
  CHECK(difference(model->forward(images), expected) < 1e-12 * expected.abs().max().item<double>());
}

}  // namespace
}  // namespace dtrain
