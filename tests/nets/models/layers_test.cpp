// Shape inference, parameter counts and every problem of a list of layers.
#include "models/layers.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "catch.h"
#include "layers/table.h"
#include "models/layer_specs.h"

namespace dtrain {
namespace {

struct ShapeCase {
  LayerSpec layer;
  Shape input;
  Shape output;
  int64_t parameters;
  int64_t buffers;
};

// One layer is not a whole model (it may learn nothing): a dense layer after it makes it one.
PlacedLayer place_one(const LayerSpec& spec, const Shape& input) {
  const LayerPlan plan = place_layers({spec, layer("flatten"), dense(1)}, input, 1);
  for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
  return plan.layers.front();
}

TEST_CASE("every kind of layer infers its output and counts its parameters") {
  const std::vector<ShapeCase> cases = {
      {dense(10), {5}, {10}, 60, 0},
      {without_bias(dense(10)), {5}, {10}, 50, 0},
      {layer("flatten"), {1, 28, 28}, {784}, 0, 0},
      {layer("flatten"), {7}, {7}, 0, 0},
      {conv2d(32), {1, 28, 28}, {32, 26, 26}, 320, 0},
      {without_bias(conv2d(32)), {3, 28, 28}, {32, 26, 26}, 864, 0},
      {conv2d(4, 1), {3, 5, 9}, {4, 5, 9}, 16, 0},
      {conv2d(2, 5), {1, 5, 7}, {2, 1, 3}, 52, 0},
      {with_stride(conv2d(2), 2), {1, 28, 28}, {2, 13, 13}, 20, 0},
      {with_padding(conv2d(2), "same"), {1, 28, 27}, {2, 28, 27}, 20, 0},
      {with_padding(with_stride(conv2d(2), 2), "same"), {1, 28, 27}, {2, 14, 14}, 20, 0},
      {with_padding(conv2d(2, 5), "same"), {1, 2, 1}, {2, 2, 1}, 52, 0},
      {pool2d("max_pool2d", 2), {8, 26, 26}, {8, 13, 13}, 0, 0},
      {pool2d("max_pool2d", 2), {8, 27, 25}, {8, 13, 12}, 0, 0},
      {with_padding(pool2d("max_pool2d", 2), "same"), {8, 27, 25}, {8, 14, 13}, 0, 0},
      {with_padding(pool2d("avg_pool2d", 5), "same"), {8, 2, 2}, {8, 1, 1}, 0, 0},
      {with_stride(pool2d("avg_pool2d", 3), 1), {8, 7, 9}, {8, 5, 7}, 0, 0},
      {with_stride(pool2d("avg_pool2d", 1), 3), {8, 7, 9}, {8, 3, 3}, 0, 0},
      {layer("global_avg_pool2d"), {8, 3, 5}, {8}, 0, 0},
      {adaptive(7), {8, 3, 15}, {8, 7, 7}, 0, 0},
      {layer("batch_norm"), {6}, {6}, 12, 12},
      {layer("batch_norm"), {3, 4, 5}, {3, 4, 5}, 6, 6},
      {layer("layer_norm"), {6}, {6}, 12, 0},
      {layer("layer_norm"), {3, 4, 5}, {3, 4, 5}, 6, 0},
      {group_norm(3), {6}, {6}, 12, 0},
      {group_norm(3), {3, 4, 5}, {3, 4, 5}, 6, 0},
      {group_norm(1), {1}, {1}, 2, 0},
      {layer("group_norm"), {64, 4, 5}, {64, 4, 5}, 128, 0},  // 32 groups
      {in_groups(conv2d(6), 2), {4, 5, 5}, {6, 3, 3}, 6 * 2 * 9 + 6, 0},
      {in_groups(conv2d(8), 4), {4, 5, 5}, {8, 3, 3}, 8 * 9 + 8, 0},
      {layer("relu"), {3, 4, 5}, {3, 4, 5}, 0, 0},
      {layer("relu6"), {3, 4, 5}, {3, 4, 5}, 0, 0},
      {layer("gelu"), {3, 4, 5}, {3, 4, 5}, 0, 0},
      {layer("silu"), {3, 4, 5}, {3, 4, 5}, 0, 0},
      {layer("tanh"), {6}, {6}, 0, 0},
      {layer("sigmoid"), {6}, {6}, 0, 0},
      {layer("dropout"), {3, 4, 5}, {3, 4, 5}, 0, 0},
      {layer("stochastic_depth"), {6}, {6}, 0, 0},
      {dense(10), {7, 5}, {7, 10}, 60, 0},
      {layer("layer_norm"), {7, 5}, {7, 5}, 10, 0},
      {group_norm(5), {7, 5}, {7, 5}, 10, 0},
      {layer("flatten"), {7, 5}, {35}, 0, 0},
      {patches(4, 6), {3, 8, 12}, {6, 6}, 6 * 3 * 16 + 6, 0},
      {layer("class_token"), {6, 5}, {7, 5}, 5, 0},
      {layer("positional_embedding"), {6, 5}, {6, 5}, 30, 0},
      {attention(2), {7, 6}, {7, 6}, 3 * 6 * 6 + 3 * 6 + 6 * 6 + 6, 0},
      {layer("first_token"), {7, 6}, {6}, 0, 0},
  };
  std::set<std::string> tried = {"add"};  // takes two inputs; tested below
  for (const ShapeCase& one : cases) {
    INFO(one.layer.kind << " on " << to_string(one.input));
    const PlacedLayer placed = place_one(one.layer, one.input);
    CHECK(placed.input_shape == one.input);
    CHECK(to_string(placed.output_shape) == to_string(one.output));
    CHECK(placed.parameters == one.parameters);
    CHECK(placed.buffers == one.buffers);
    tried.insert(one.layer.kind);
  }
  std::set<std::string> shipped;
  for (const LayerKind* kind : shipped_layers()) shipped.insert(kind->name);
  CHECK(tried == shipped);
}

TEST_CASE("layers are named and chained as in Keras") {
  const LayerPlan plan =
      place_layers({layer("flatten"), dense(4), layer("relu"), dense(3), layer("relu"), dense(2)}, {2, 3}, 2);
  REQUIRE(plan.problems.empty());
  std::vector<std::string> names;
  for (const PlacedLayer& placed : plan.layers) names.push_back(placed.name);
  CHECK(names == std::vector<std::string>{"flatten", "dense", "relu", "dense_1", "relu_1", "dense_2"});
  for (size_t i = 1; i < plan.layers.size(); ++i) {
    CHECK(plan.layers[i].input_shape == plan.layers[i - 1].output_shape);
  }
  CHECK(plan.output_shape() == Shape{2});
  CHECK(plan.parameters() == 6 * 4 + 4 + 4 * 3 + 3 + 3 * 2 + 2);
  CHECK(plan.buffers() == 0);
}

// What `activation` is short for.
TEST_CASE("an activation is a layer of its own, whose output the name of the first layer stands for") {
  const std::vector<LayerSpec> brief = {layer("flatten"), named(activated(dense(4), "relu"), "hidden"),
                                        dense(4), add("hidden"), activated(dense(2), "tanh")};
  const std::vector<LayerSpec> full = {
      layer("flatten"), named(dense(4), "hidden"), layer("relu"), dense(4), add("relu"), dense(2),
      layer("tanh")};
  const LayerPlan plan = place_layers(brief, {2, 3}, 2), wanted = place_layers(full, {2, 3}, 2);
  REQUIRE(plan.problems.empty());
  REQUIRE(plan.layers.size() == wanted.layers.size());
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    CHECK(plan.layers[i].name == wanted.layers[i].name);
    CHECK(plan.layers[i].spec.kind == wanted.layers[i].spec.kind);
    CHECK(plan.layers[i].parameters == wanted.layers[i].parameters);
    CHECK(plan.layers[i].input == wanted.layers[i].input);
    CHECK(plan.layers[i].with == wanted.layers[i].with);
    CHECK(plan.layers[i].output_shape == wanted.layers[i].output_shape);
  }
  CHECK(plan.layers[4].with == 2);  // not the dense layer, which is 1
}

TEST_CASE("a problem after an activation is that of its layer in the list") {
  const LayerPlan plan = place_layers({activated(conv2d(4), "relu"), dense(3)}, {1, 8, 8}, 3);
  REQUIRE(plan.problems.size() == 1);
  CHECK(plan.problems[0].layer == 1);
  CHECK(plan.layers.size() == 2);
  const LayerPlan wrong_end =
      place_layers({activated(dense(3), "relu"), activated(dense(4), "relu")}, {8}, 3);
  REQUIRE(wrong_end.problems.size() == 1);
  CHECK(wrong_end.problems[0].layer == 1);
  CHECK(wrong_end.layers.size() == 2);
}

TEST_CASE("without classes any output is accepted") {
  CHECK(place_layers({conv2d(2)}, {1, 5, 5}, 0).problems.empty());
}

struct ProblemCase {
  std::vector<LayerSpec> layers;
  Shape input;
  size_t layer;
  std::string text;
};

const int64_t kHuge = std::numeric_limits<int64_t>::max();

LayerSpec bad_kernel(int64_t kernel_size, const std::string& padding = "valid") {
  return with_padding(conv2d(2, kernel_size), padding);
}

TEST_CASE("a problem names the layer, both shapes and the fix") {
  const std::vector<ProblemCase> cases = {
      {{dense(10)},
       {1, 28, 28},
       0,
       "dense: expects an input of [features] or [tokens, features] but gets [1, 28, 28]; put a flatten "
       "layer "
       "before it"},
      {{conv2d(4), layer("relu"), dense(10), dense(10)},
       {1, 28, 28},
       2,
       "dense: expects an input of [features] or [tokens, features] but gets [4, 26, 26]; put a flatten "
       "layer before it"},
      {{conv2d(4), layer("flatten"), conv2d(4)},
       {1, 28, 28},
       2,
       "conv2d_1: expects an input of [channels, height, width] but gets [2704]; put it before the flatten "
       "layer"},
      {{pool2d("max_pool2d", 2)},
       {6},
       0,
       "max_pool2d: expects an input of [channels, height, width] but gets [6]; put it before the flatten "
       "layer"},
      {{pool2d("avg_pool2d", 2)},
       {6, 6},
       0,
       "avg_pool2d: expects an input of [channels, height, width] but gets [6, 6]"},
      {{layer("batch_norm")},
       {6, 6},
       0,
       "batch_norm: expects an input of [features] or [channels, height, width] but gets [6, 6]"},
      {{layer("layer_norm")},
       {6, 6, 6, 6},
       0,
       "layer_norm: expects an input of [features], [tokens, features] or [channels, height, width] but gets "
       "[6, 6, 6, 6]"},
      {{layer("group_norm")},
       {6, 6, 6, 6},
       0,
       "group_norm: expects an input of [features], [tokens, features] or [channels, height, width] but gets "
       "[6, 6, 6, 6]"},
      {{layer("group_norm")},
       {48, 4, 4},
       0,
       "group_norm: its 32 groups cannot share 48 channels evenly; did you mean 24 or 48?"},
      {{group_norm(5)},
       {12, 8},
       0,
       "group_norm: its 5 groups cannot share 8 features evenly; did you mean 4 or 8?"},
      {{layer("group_norm")},
       {7, 4, 4},
       0,
       "group_norm: its 32 groups cannot share 7 channels evenly; did you mean 7?"},
      {{layer("group_norm")},
       {32},
       0,
       "group_norm: its 32 groups would have one number each; did you mean 16?"},
      {{group_norm(0)}, {32}, 0, "group_norm: groups must be from 1"},
      {{patches(16, 8)},
       {3, 28, 42},
       0,
       "patch_embedding: its patches of 16x16 pixels do not fill its input [3, 28, 42]; use a patch that "
       "divides its height and width, such as 14, or images of another size (data.image.size)"},
      {{patches(16, 8)},
       {64},
       0,
       "patch_embedding: expects an input of [channels, height, width] but gets [64]"},
      {{patches(0, 8)}, {3, 8, 8}, 0, "patch_embedding: patch must be from 1"},
      {{patches(4, 0)}, {3, 8, 8}, 0, "patch_embedding: units must be from 1"},
      {{patches(kHuge, 8)}, {3, 8, 8}, 0, "patch_embedding: patch must be from 1"},
      {{patches(4, 10), attention(4)},
       {3, 8, 8},
       1,
       "attention: its 4 heads cannot share 10 features evenly; use a number of heads that divides it"},
      {{patches(4, 10), attention(0)}, {3, 8, 8}, 1, "attention: heads must be from 1"},
      {{layer("flatten"), attention(2)},
       {3, 8, 8},
       1,
       "attention: expects an input of [tokens, features] but gets [192]; put patch_embedding before it"},
      {{layer("class_token")}, {64}, 0, "class_token: expects an input of [tokens, features] but gets [64]"},
      {{layer("positional_embedding")},
       {64},
       0,
       "positional_embedding: expects an input of [tokens, features]"},
      {{layer("first_token")}, {3, 8, 8}, 0, "first_token: expects an input of [tokens, features]"},
      {{patches(4, 10), dense(10)},
       {3, 8, 8},
       1,
       "dense: the last layer gives [4, 10] but 10 classes need [10]; end with a dense layer of 10 units"},
      {{in_groups(conv2d(6), 4)},
       {4, 8, 8},
       0,
       "conv2d: its 4 input channels and 6 filters cannot both be divided into 4 groups; each must be a "
       "multiple"},
      {{in_groups(conv2d(6), 3)}, {4, 8, 8}, 0, "its 4 input channels and 6 filters cannot both be divided"},
      {{in_groups(conv2d(6), 0)}, {4, 8, 8}, 0, "groups must be from 1"},
      {{pool2d("max_pool2d", 3), pool2d("max_pool2d", 3)},
       {1, 8, 28},
       1,
       "max_pool2d_1: its window [3, 3] is larger than its input [1, 2, 9], so the output would be empty; "
       "use a smaller pool_size or padding: same"},
      {{bad_kernel(29)},
       {1, 28, 30},
       0,
       "conv2d: its window [29, 29] is larger than its input [1, 28, 30], so the output would be empty; "
       "use a smaller kernel_size or padding: same"},
      {{layer("flatten"), dense(12)},
       {1, 2, 2},
       1,
       "dense: the last layer gives [12] but 10 classes need [10]; end with a dense layer of 10 units"},
      {{conv2d(10, 2)}, {1, 2, 2}, 0, "conv2d: the last layer gives [10, 1, 1] but 10 classes need [10]"},
      {{}, {1, 28, 28}, 0, "the model has no layers"},
      {{layer("relu")}, {10}, 0, "the model has no trainable parameters; add a dense or conv2d layer"},
      {{layer("desne")}, {10}, 0, "desne: unknown layer kind 'desne'; known: conv2d, max_pool2d"},
      {{layer("desne")}, {10}, 0, "did you mean 'dense'?"},
      {{layer("")}, {10}, 0, "unknown layer kind ''"},
      {{layer(fmt::format("{:a>1000}\n", ""))}, {10}, 0, "unknown layer kind 'aaa"},
      {{dense(0)}, {10}, 0, "dense: units must be from 1 to 100,000,000,000, not 0"},
      {{dense(-5)}, {10}, 0, "units must be from 1 to 100,000,000,000, not -5"},
      {{conv2d(0)}, {1, 8, 8}, 0, "conv2d: filters must be from 1"},
      {{bad_kernel(0)}, {1, 8, 8}, 0, "kernel_size must be from 1"},
      {{pool2d("avg_pool2d", -1)}, {1, 8, 8}, 0, "pool_size must be from 1"},
      {{with_stride(conv2d(2), 0)}, {1, 8, 8}, 0, "stride must be from 1"},
      {{with_padding(conv2d(2), "full")}, {1, 8, 8}, 0, "unknown padding 'full'; known: valid, same"},
      {{with_initializer(dense(2), "he_norml")},
       {8},
       0,
       "unknown initializer 'he_norml'; known: glorot_uniform"},
      {{with_initializer(conv2d(2), "he_norml")}, {1, 8, 8}, 0, "did you mean 'he_normal'?"},
  };
  for (const ProblemCase& one : cases) {
    INFO(one.text);
    const LayerPlan plan = place_layers(one.layers, one.input, 10);
    REQUIRE_FALSE(plan.problems.empty());
    std::string texts;
    bool placed = false;
    for (const LayerProblem& problem : plan.problems) {
      texts += problem.text + "\n";
      placed = placed || problem.layer == one.layer;
    }
    CHECK_THAT(texts, ContainsSubstring(one.text));
    CHECK(placed);
    CHECK(plan.layers.size() <= one.layer);
    CHECK(texts.size() < 1000);
  }
}

TEST_CASE("shapes and counts that would overflow are problems") {
  const std::vector<ProblemCase> cases = {
      {{dense(kHuge)}, {10}, 0, "units must be from 1"},
      {{dense(100'000'000'000)}, {10}, 0, "more than 100,000,000,000 parameters"},
      {{dense(1'000'000), dense(99'999), dense(10)},
       {10},
       1,
       "dense_1: makes [99999] of its input [1000000], which brings the model to more than 100,000,000,000"},
      {{bad_kernel(kHuge, "same")}, {1, 8, 8}, 0, "kernel_size must be from 1"},
      {{bad_kernel(100'000'000'000, "same")},
       {1, 8, 8},
       0,
       "with padding, more than 100,000,000,000 numbers"},
      {{with_padding(pool2d("max_pool2d", 1'000'000), "same")}, {1, 8, 8}, 0, "with padding, more than"},
      {{with_stride(conv2d(2), kHuge)}, {1, 8, 8}, 0, "stride must be from 1"},
      {{conv2d(1'000'000, 1)},
       {1, 1000, 1000},
       0,
       "makes [1000000, 1000, 1000] of its input [1, 1000, 1000], more than 100,000,000,000 numbers"},
      {{layer("flatten")}, {kHuge, kHuge, kHuge}, 0, "must have sizes of at least 1 and at most"},
      {{layer("flatten")}, {1LL << 32, 1LL << 32}, 0, "must have sizes of at least 1 and at most"},
      {{layer("flatten")}, {-4, -4}, 0, "the model's input [-4, -4] must have sizes of at least 1"},
      {{layer("flatten")}, {0, 4}, 0, "must have sizes of at least 1"},
      {{layer("flatten")}, {}, 0, "the model's input [] must have sizes of at least 1"},
  };
  for (const ProblemCase& one : cases) {
    INFO(one.text);
    const LayerPlan plan = place_layers(one.layers, one.input, 0);
    REQUIRE(plan.problems.size() == 1);
    CHECK_THAT(plan.problems[0].text, ContainsSubstring(one.text));
    CHECK(plan.problems[0].layer == one.layer);
    CHECK(plan.layers.size() == one.layer);
  }
}

TEST_CASE("a huge stride is no problem: one output") {
  const LayerSpec spec = with_padding(with_stride(conv2d(2), 100'000'000'000), "same");
  CHECK(place_one(spec, {1, 8, 9}).output_shape == Shape{2, 1, 1});
}

TEST_CASE("what a layer names has to be there, to fit and to be unique") {
  const auto problem = [](const std::vector<LayerSpec>& layers) {
    const LayerPlan plan = place_layers(layers, {8}, 3);
    REQUIRE(plan.problems.size() == 1);
    return plan.problems[0].text;
  };
  CHECK(problem({dense(8), from(dense(3), "dens")}) ==
        "dense_1: from: no earlier layer is named 'dens'; did you mean 'dense'?");
  CHECK(problem({dense(8), from(dense(3), "dense_1")}) ==
        "dense_1: from: no earlier layer is named 'dense_1'; did you mean 'dense'?");
  CHECK(problem({dense(8), add("nothing_like_it")}) ==
        "add: with: no earlier layer is named 'nothing_like_it'");
  CHECK(problem({layer("add")}) == "add: needs `with`, the name of the layer whose output it adds");
  CHECK(problem({named(dense(4), "four"), dense(3), add("four")}) ==
        "add: adds [4] of four to its input [3]; the shapes must be the same");
  CHECK(problem({named(dense(4), "same"), named(dense(3), "same")}) ==
        "same: an earlier layer has this name; give each its own");
  CHECK(problem({named(dense(4), "dense_1"), dense(4), dense(3)}) ==
        "dense_1: an earlier layer has this name; give each its own");
}

TEST_CASE("the output has to depend on every layer with weights") {
  const auto place = [](const std::vector<LayerSpec>& layers) { return place_layers(layers, {8}, 3); };
  const LayerPlan one = place({activated(named(dense(4), "a"), "relu"), dense(5), from(dense(3), "a")});
  REQUIRE(one.problems.size() == 1);
  CHECK(one.problems[0].layer == 1);
  CHECK(one.problems[0].text ==
        "dense_1: the model's output does not depend on it; name it in `from` or `with` of a later layer, or "
        "remove it");
  // That a layer is read does not help where nothing uses what reads it.
  const LayerPlan two = place({named(dense(4), "a"), dense(5), layer("relu"), dense(3), from(dense(3), "a")});
  REQUIRE(two.problems.size() == 2);
  CHECK(two.problems[0].layer == 1);
  CHECK(two.problems[1].layer == 3);
  CHECK(two.layers.size() == 1);
  CHECK(place({named(dense(3), "a"), dense(3), from(dense(3), "a"), add("dense_1")}).problems.empty());
  CHECK(place({named(dense(4), "a"), layer("relu"), from(dense(3), "a")}).problems.empty());  // no weights
}

TEST_CASE("symmetric padding is half the window on every side") {
  CHECK(place_one(with_padding(with_stride(conv2d(2), 2), "symmetric"), {1, 28, 27}).output_shape ==
        Shape{2, 14, 14});
  CHECK(place_one(with_padding(conv2d(2, 7), "symmetric"), {1, 5, 5}).output_shape == Shape{2, 5, 5});
  CHECK(
      place_one(with_padding(with_stride(pool2d("max_pool2d", 3), 2), "symmetric"), {4, 8, 9}).output_shape ==
      Shape{4, 4, 5});
  CHECK(place_one(with_padding(conv2d(2, 2), "symmetric"), {1, 5, 5}).output_shape == Shape{2, 4, 4});
}

}  // namespace
}  // namespace dtrain
