// Named models, known parameter counts and the summary.
#include <algorithm>
#include <tuple>

#include "architectures/architectures.h"
#include "catch.h"
#include "core/error.h"
#include "models/layer_kinds.h"
#include "models/layer_specs.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

std::vector<std::string> kinds(const std::vector<LayerSpec>& layers) {
  std::vector<std::string> list;
  for (const LayerSpec& spec : layers) list.push_back(spec.kind);
  return list;
}

ModelSpec published_cnn() {
  ModelSpec spec;
  spec.kind = "cnn";
  spec.filters = {32};
  spec.hidden = {64};
  return spec;
}

TEST_CASE("mlp: flatten, then dense, activation and dropout per hidden layer, then the classes") {
  ModelSpec spec;
  spec.hidden = {256, 128};
  spec.activation = "gelu";
  spec.initializer = "he_normal";
  CHECK(kinds(expand_layers(spec, 10)) ==
        std::vector<std::string>{"flatten", "dense", "gelu", "dense", "gelu", "dense"});
  spec.dropout = 0.25;
  const auto layers = expand_layers(spec, 10);
  CHECK(kinds(layers) ==
        std::vector<std::string>{"flatten", "dense", "gelu", "dropout", "dense", "gelu", "dropout", "dense"});
  CHECK(layers[1].own.get<DenseFields>().units == 256);
  CHECK(layers[4].own.get<DenseFields>().units == 128);
  CHECK(layers[7].own.get<DenseFields>().units == 10);
  CHECK(layers[3].own.get<DropoutFields>().rate == 0.25);
  for (const size_t at : {1, 4, 7}) CHECK(layers[at].own.get<DenseFields>().initializer == "he_normal");

  spec.hidden = {};
  CHECK(kinds(expand_layers(spec, 10)) == std::vector<std::string>{"flatten", "dense"});
}

TEST_CASE("cnn: conv2d, activation and pool per filter count, then an mlp") {
  ModelSpec spec = published_cnn();
  spec.filters = {8, 16};
  spec.kernel_size = 5;
  spec.dropout = 0.5;
  const auto layers = expand_layers(spec, 10);
  CHECK(kinds(layers) == std::vector<std::string>{"conv2d", "relu", "max_pool2d", "conv2d", "relu",
                                                  "max_pool2d", "flatten", "dense", "relu", "dropout",
                                                  "dense"});
  CHECK(layers[0].own.get<ConvFields>().filters == 8);
  CHECK(layers[3].own.get<ConvFields>().filters == 16);
  CHECK(layers[3].own.get<ConvFields>().kernel_size == 5);
  CHECK(layers[2].own.get<PoolFields>().pool_size == 2);
}

LayerPlan plan_of(const ModelSpec& spec, const Shape& image, int64_t classes) {
  LayerPlan plan = place_layers(expand_layers(spec, classes), image, classes);
  for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
  return plan;
}

ModelSpec model_of_kind(const std::string& kind, std::optional<int64_t> depth = {}) {
  ModelSpec spec;
  spec.kind = kind;
  spec.depth = depth;
  return spec;
}

TEST_CASE("published networks have their published numbers of parameters") {
  struct Published {
    const char* kind;
    std::optional<int64_t> depth;
    bool batch_norm;
    int64_t parameters;
  };
  // torchvision's models of 1,000 classes (torchvision.models, "num_params").
  const std::vector<Published> networks = {
      {"resnet", 18, false, 11'689'512},      {"resnet", 34, false, 21'797'672},
      {"resnet", 50, false, 25'557'032},      {"resnet", 101, false, 44'549'160},
      {"wide_resnet", 50, false, 68'883'240}, {"wide_resnet", 101, false, 126'886'696},
      {"vgg", 11, false, 132'863'336},        {"vgg", 13, false, 133'047'848},
      {"vgg", 16, false, 138'357'544},        {"vgg", 19, false, 143'667'240},
      {"vgg", 11, true, 132'868'840},         {"vgg", 13, true, 133'053'736},
      {"vgg", 16, true, 138'365'992},         {"vgg", 19, true, 143'678'248},
      {"mobilenet_v2", {}, false, 3'504'872}};
  for (const Published& network : networks) {
    INFO(network.kind << " " << network.depth.value_or(0));
    ModelSpec spec = model_of_kind(network.kind, network.depth);
    spec.batch_norm = network.batch_norm;
    CHECK(plan_of(spec, {3, 224, 224}, 1000).parameters() == network.parameters);
  }
  for (const auto& [size, patch, parameters] : std::vector<std::tuple<const char*, int64_t, int64_t>>{
           {"base", 16, 86'567'656}, {"base", 32, 88'224'232}}) {
    ModelSpec spec = model_of_kind("vit");
    spec.size = size;
    spec.patch = patch;
    CHECK(plan_of(spec, {3, 224, 224}, 1000).parameters() == parameters);
  }
  // Touvron et al. have 5 M and 22 M in table 1; their code makes 5,717,416 and 22,050,664.
  for (const auto& [size, parameters] :
       std::vector<std::pair<const char*, int64_t>>{{"tiny", 5'717'416}, {"small", 22'050'664}}) {
    ModelSpec spec = model_of_kind("vit");
    spec.size = size;
    CHECK(plan_of(spec, {3, 224, 224}, 1000).parameters() == parameters);
  }
  // Of 10 classes. He et al. have 0.27 M and 0.85 M in table 6, without the projections of the shortcuts,
  // which are 2,752; LeNet-5 as in the usual reconstructions.
  CHECK(plan_of(model_of_kind("cifar_resnet", 20), {3, 32, 32}, 10).parameters() == 269'722 + 2'752);
  CHECK(plan_of(model_of_kind("cifar_resnet", 56), {3, 32, 32}, 10).parameters() == 853'018 + 2'752);
  CHECK(plan_of(model_of_kind("lenet5"), {1, 28, 28}, 10).parameters() == 61'706);
}

TEST_CASE("a named model without a depth has the usual one") {
  for (const auto& [kind, depth] : std::vector<std::pair<const char*, int64_t>>{
           {"resnet", 18}, {"cifar_resnet", 20}, {"wide_resnet", 50}, {"vgg", 16}}) {
    CHECK(plan_of(model_of_kind(kind), {3, 64, 64}, 5).parameters() ==
          plan_of(model_of_kind(kind, depth), {3, 64, 64}, 5).parameters());
  }
}

TEST_CASE("the sizes of a network's feature maps are the published ones") {
  const auto before_pool = [](const ModelSpec& spec, int64_t side) {
    const LayerPlan plan = plan_of(spec, {3, side, side}, 7);
    for (const PlacedLayer& layer : plan.layers)
      if (layer.spec.kind == "global_avg_pool2d" || layer.spec.kind == "adaptive_avg_pool2d")
        return layer.input_shape;
    return Shape{};
  };
  CHECK(before_pool(model_of_kind("resnet", 18), 224) == Shape{512, 7, 7});
  CHECK(before_pool(model_of_kind("resnet", 50), 224) == Shape{2048, 7, 7});
  CHECK(before_pool(model_of_kind("wide_resnet", 50), 224) == Shape{2048, 7, 7});
  CHECK(before_pool(model_of_kind("vgg", 16), 224) == Shape{512, 7, 7});
  CHECK(before_pool(model_of_kind("mobilenet_v2"), 224) == Shape{1280, 7, 7});
  CHECK(before_pool(model_of_kind("cifar_resnet", 56), 32) == Shape{64, 8, 8});
}

TEST_CASE("the stride of a bottleneck is where the spec says") {
  ModelSpec spec = model_of_kind("resnet", 50);
  const auto strides = [&] {
    std::vector<std::pair<int64_t, int64_t>> list;  // kernel size and stride of each strided convolution
    for (const LayerSpec& one : expand_layers(spec, 10)) {
      if (one.kind != "conv2d") continue;
      const auto& own = one.own.get<ConvFields>();
      if (own.step() != 1) list.emplace_back(own.kernel_size, own.step());
    }
    return list;
  };
  const std::pair<int64_t, int64_t> stem = {7, 2}, first = {1, 2}, middle = {3, 2}, shortcut = {1, 2};
  CHECK(strides() == std::vector{stem, middle, shortcut, middle, shortcut, middle, shortcut});
  spec.bottleneck_stride = "first";
  CHECK(strides() == std::vector{stem, first, shortcut, first, shortcut, first, shortcut});
  CHECK(plan_of(spec, {3, 224, 224}, 1000).parameters() == 25'557'032);
}

TEST_CASE(
    "without its top, a network ends with its pooled feature maps and a dense layer, or with the head "
    "given") {
  ModelSpec spec = model_of_kind("vgg", 16);
  spec.include_top = false;
  spec.dropout = 0.5;
  Architecture made = architecture_of(spec, 3);
  CHECK(kinds(made.layers).at(made.head - 1) == "max_pool2d");
  const auto head_of = [](const Architecture& of) {
    const auto all = kinds(of.layers);
    return std::vector<std::string>(all.begin() + static_cast<long>(of.head), all.end());
  };
  CHECK(head_of(made) == std::vector<std::string>{"global_avg_pool2d", "dropout", "dense"});
  CHECK(plan_of(spec, {3, 64, 64}, 3).parameters() == 14'714'688 + 3 * 513);
  spec.head = {layer("flatten"), dense(3)};
  made = architecture_of(spec, 3);
  CHECK(head_of(made) == std::vector<std::string>{"flatten", "dense"});

  // With its top, only the last dense layer is of the job's classes.
  spec.include_top = true;
  spec.head = {};
  CHECK(head_of(architecture_of(spec, 3)) == std::vector<std::string>{"dense"});
  spec = model_of_kind("layers");
  spec.layers = {layer("flatten"), dense(5), layer("relu"), dense(3), layer("batch_norm")};
  CHECK(architecture_of(spec, 3).head == 3);
}

TEST_CASE("the layers with variables have torchvision's names, and no others") {
  const auto names = [](const ModelSpec& spec) {
    const Architecture made = architecture_of(spec, 10);
    std::vector<std::string> list;
    for (size_t i = 0; i < made.layers.size(); ++i) {
      const std::string& kind = made.layers[i].kind;
      const bool weighted = kind.ends_with("_embedding") || kind == "conv2d" || kind == "dense" ||
                            kind == "batch_norm" || kind == "layer_norm" || kind == "attention" ||
                            kind == "class_token";
      CHECK(weighted == !made.torchvision[i].empty());
      if (weighted) list.push_back(made.torchvision[i]);
    }
    return list;
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::count(list.begin(), list.end(), name) == 1;
  };
  const auto resnet18 = names(model_of_kind("resnet", 18));
  CHECK(std::vector<std::string>(resnet18.begin(), resnet18.begin() + 6) ==
        std::vector<std::string>{"conv1", "bn1", "layer1.0.conv1", "layer1.0.bn1", "layer1.0.conv2",
                                 "layer1.0.bn2"});
  CHECK(resnet18.size() == 41);
  const auto resnet50 = names(model_of_kind("resnet", 50));
  for (const char* name :
       {"layer1.0.downsample.0", "layer3.5.conv3", "layer4.0.downsample.1", "layer4.2.bn3", "fc"})
    CHECK(has(resnet50, name));
  CHECK(names(model_of_kind("wide_resnet", 50)) == resnet50);
  const auto vgg11 = names(model_of_kind("vgg", 11));
  CHECK(vgg11 == std::vector<std::string>{"features.0", "features.3", "features.6", "features.8",
                                          "features.11", "features.13", "features.16", "features.18",
                                          "classifier.0", "classifier.3", "classifier.6"});
  ModelSpec normalised = model_of_kind("vgg", 16);
  normalised.batch_norm = true;
  CHECK(has(names(normalised), "features.41"));
  const auto mobilenet = names(model_of_kind("mobilenet_v2"));
  for (const char* name : {"features.0.1", "features.1.conv.0.0", "features.1.conv.1", "features.1.conv.2",
                           "features.2.conv.1.1", "features.17.conv.3", "features.18.0", "classifier.1"})
    CHECK(has(mobilenet, name));
  CHECK(mobilenet.size() == 105);
  const auto vit = names(model_of_kind("vit"));
  for (const char* name :
       {"conv_proj", "class_token", "encoder.pos_embedding", "encoder.layers.encoder_layer_0.ln_1",
        "encoder.layers.encoder_layer_11.self_attention", "encoder.layers.encoder_layer_3.mlp.3",
        "encoder.ln", "heads.head"})
    CHECK(has(vit, name));
  CHECK(vit.size() == 3 + 12 * 5 + 2);
}

TEST_CASE("dropout is before the dense layers of published networks, and nowhere else") {
  for (const auto& [kind, layers] : std::vector<std::pair<const char*, long>>{{"lenet5", 1},
                                                                              {"vgg", 2},
                                                                              {"resnet", 1},
                                                                              {"cifar_resnet", 1},
                                                                              {"wide_resnet", 1},
                                                                              {"mobilenet_v2", 1}}) {
    INFO(kind);
    ModelSpec spec = model_of_kind(kind);
    const auto without = kinds(expand_layers(spec, 10));
    CHECK(std::count(without.begin(), without.end(), "dropout") == 0);
    spec.dropout = 0.2;
    const auto with = kinds(expand_layers(spec, 10));
    CHECK(std::count(with.begin(), with.end(), "dropout") == layers);
    CHECK(with.size() == without.size() + static_cast<size_t>(layers));
    CHECK(with.at(with.size() - 2) == "dropout");
  }
}

TEST_CASE("vit: dropout is where torchvision has it, and without its top it ends with the class token") {
  ModelSpec spec = model_of_kind("vit");
  spec.dropout = 0.1;
  const auto with = kinds(expand_layers(spec, 10));
  CHECK(std::count(with.begin(), with.end(), "dropout") == 1 + 12 * 3);
  CHECK(expand_layers(spec, 10).back().name == "head");
  spec.include_top = false;
  const Architecture made = architecture_of(spec, 10);
  const auto all = kinds(made.layers);
  CHECK(all.at(made.head - 1) == "first_token");
  CHECK(std::vector<std::string>(all.end() - 2, all.end()) == std::vector<std::string>{"dropout", "dense"});
  CHECK(made.layers.back().name == "head");
  CHECK(plan_of(spec, {3, 32, 32}, 10).layers.at(made.head).input_shape == Shape{768});
}

// torchvision has 17.564 (vit_b_16) as _ops of its weights, in billions of products and sums together.
TEST_CASE("vit: its operations are those that torchvision counts") {
  const LayerPlan plan = plan_of(model_of_kind("vit"), {3, 224, 224}, 1000);
  double operations = 0;
  for (size_t i = 0; i < plan.layers.size(); ++i) operations += operations_of(plan.layers, i).forward;
  CHECK(operations / 2 == Approx(17.564e9).epsilon(1e-4));
}

TEST_CASE("resnet: a small stem keeps the size of small images") {
  ModelSpec spec;
  spec.kind = "resnet";
  spec.stem = "small";
  const LayerPlan plan = place_layers(expand_layers(spec, 10), {1, 28, 28}, 10);
  REQUIRE(plan.problems.empty());
  CHECK(plan.layers[2].name == "stem");
  CHECK(plan.layers[2].output_shape == Shape{64, 28, 28});
  CHECK(plan.layers[plan.layers.size() - 2].input_shape == Shape{512, 4, 4});
}

TEST_CASE("kind: layers is the list as written") {
  ModelSpec spec;
  spec.kind = "layers";
  spec.layers = {layer("flatten"), dense(3)};
  CHECK(kinds(expand_layers(spec, 10)) == std::vector<std::string>{"flatten", "dense"});
  CHECK(expand_layers(spec, 10)[1].own.get<DenseFields>().units == 3);
}

TEST_CASE("an unknown kind of model is an error that lists the known ones") {
  ModelSpec spec;
  spec.kind = "mpl";
  try {
    expand_layers(spec, 10);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(error.what() ==
          std::string(
              "unknown model kind 'mpl'; known: mlp, cnn, lenet5, vgg, resnet, "
              "cifar_resnet, wide_resnet, mobilenet_v2, vit, layers, torchscript; did you mean 'mlp'?"));
  }
}

TEST_CASE("an mlp and a cnn have their known parameter counts") {
  ModelSpec mlp;
  mlp.hidden = {256, 128};
  CHECK(place_layers(expand_layers(mlp, 10), {1, 28, 28}, 10).parameters() == 235'146);
  CHECK(place_layers(expand_layers(published_cnn(), 10), {1, 28, 28}, 10).parameters() == 347'146);
}

TEST_CASE("a named model that does not fit its images is a problem, not a crash") {
  ModelSpec spec = published_cnn();
  spec.filters = {8, 8, 8, 8, 8};
  const LayerPlan plan = place_layers(expand_layers(spec, 10), {1, 28, 28}, 10);
  REQUIRE(plan.problems.size() == 1);
  CHECK_THAT(plan.problems[0].text,
             ContainsSubstring("conv2d_3: its window [3, 3] is larger than its input [8, 1, 1]"));
  spec = published_cnn();
  spec.activation = "softmax";
  CHECK_THAT(place_layers(expand_layers(spec, 10), {1, 28, 28}, 10).problems.at(0).text,
             ContainsSubstring("unknown layer kind 'softmax'"));
  CHECK_THAT(place_layers(expand_layers(published_cnn(), 0), {1, 28, 28}, 0).problems.at(0).text,
             ContainsSubstring("dense_1: units must be from 1"));
}

}  // namespace
}  // namespace dtrain
