// Where a program turns images around.
#include "compiled/graph.h"

#include <string>

#include "catch.h"
#include "models/layer_specs.h"

namespace dtrain {
namespace {

// The nodes by the names of their layers; those that turn images in brackets, with what they turn.
std::string program_of(const std::vector<LayerSpec>& specs, const Shape& input = {2, 8, 8}) {
  const LayerPlan plan = place_layers(specs, input, 0);
  REQUIRE(plan.problems.empty());
  std::string text;
  for (const Node& node : nodes_of(plan.layers, 0, /*training=*/true)) {
    const std::string name = node.turned.empty()         ? plan.layers[node.layer].name
                             : node.input == kModelInput ? "[input]"
                                                         : "[" + plan.layers[node.layer].name + "]";
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

TEST_CASE("images are turned around where a chain of layers that want their channels inside begins or ends") {
  const LayerSpec relu = layer("relu"), flat = layer("flatten"), pool = pool2d("max_pool2d", 2);
  CHECK(program_of({conv2d(4), relu, pool, flat, dense(5)}) == "conv2d dense");  // at once, by channels
  CHECK(program_of({conv2d(4), relu, flat, dense(5)}) == "[input] conv2d relu [relu] dense");
  CHECK(program_of({conv2d(4), relu, layer("global_avg_pool2d"), dense(5)}) ==
        "[input] conv2d relu global_avg_pool2d dense");
  CHECK(program_of({layer("tanh"), conv2d(4), flat, relu, dense(5)}) ==
        "[input] tanh conv2d [conv2d] relu dense");
  CHECK(program_of({conv2d(4), relu, pool, relu, with_padding(conv2d(4), "same"), layer("batch_norm"), flat,
                    dense(5)}) == "conv2d [max_pool2d] relu_1 conv2d_1 batch_norm [batch_norm] dense");
  CHECK(program_of({relu, layer("batch_norm"), flat, dense(5)}) == "relu batch_norm dense");
  CHECK(program_of({conv2d(4), flat}) == "[input] conv2d [conv2d]");
}

TEST_CASE("images that lie the same in both ways are not turned around") {
  CHECK(program_of({conv2d(4, 8), layer("flatten"), dense(5)}, {1, 8, 8}) == "conv2d dense");
  CHECK(program_of({conv2d(1), layer("flatten"), dense(5)}) == "[input] conv2d dense");
}

TEST_CASE("what several layers read is turned around once") {
  CHECK(program_of({conv2d(4), layer("relu"), named(pool2d("max_pool2d", 2), "p"),
                    with_padding(conv2d(4), "same"), add("p"), layer("flatten"), dense(5)}) ==
        "conv2d [p] conv2d_1 add [add] dense");
  CHECK(program_of({named(with_padding(conv2d(2), "same"), "a"), layer("relu"), add("a"),
                    layer("flatten")}) == "[input] a relu add [add]");
}

}  // namespace
}  // namespace dtrain
