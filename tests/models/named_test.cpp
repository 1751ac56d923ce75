// Named models, known parameter counts and the summary.
#include "catch.h"
#include "core/error.h"
#include "models/layer_specs.h"

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
  CHECK(layers[1].units == 256);
  CHECK(layers[4].units == 128);
  CHECK(layers[7].units == 10);
  CHECK(layers[3].rate == 0.25);
  for (const size_t at : {1, 4, 7}) CHECK(layers[at].initializer == "he_normal");

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
  CHECK(layers[0].filters == 8);
  CHECK(layers[3].filters == 16);
  CHECK(layers[3].kernel_size == 5);
  CHECK(layers[2].pool_size == 2);
}

TEST_CASE("resnet: the published numbers of parameters") {
  // torchvision's models of 1,000 classes.
  for (const auto& [depth, parameters] :
       std::vector<std::pair<int64_t, int64_t>>{{18, 11'689'512}, {34, 21'797'672}, {50, 25'557'032}}) {
    ModelSpec spec;
    spec.kind = "resnet";
    spec.depth = depth;
    const LayerPlan plan = place_layers(expand_layers(spec, 1000), {3, 224, 224}, 1000);
    for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
    CHECK(plan.parameters() == parameters);
    CHECK(plan.layers[plan.layers.size() - 2].input_shape == Shape{depth == 50 ? 2048 : 512, 7, 7});
  }
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
  CHECK(expand_layers(spec, 10)[1].units == 3);
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
          std::string("unknown model kind 'mpl'; known: mlp, cnn, resnet, layers; did you mean 'mlp'?"));
  }
}

TEST_CASE("published models have their published parameter counts") {
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

TEST_CASE("the summary is an aligned table") {
  const LayerPlan plan =
      place_layers({conv2d(32), layer("batch_norm"), layer("flatten"), dense(10)}, {1, 28, 28}, 10);
  REQUIRE(plan.problems.empty());
  CHECK("\n" + summary_table(plan, 4) == R"(
Layer (kind)             Output shape     Parameters
----------------------------------------------------
conv2d (conv2d)          [-, 32, 26, 26]         320
batch_norm (batch_norm)  [-, 32, 26, 26]          64
flatten (flatten)        [-, 21632]                0
dense (dense)            [-, 10]             216,330
----------------------------------------------------
Trainable parameters                         216,714
Kept statistics                                   64
Size                                       846.8 KiB
)");
}

}  // namespace
}  // namespace dtrain
