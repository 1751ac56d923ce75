#include "compiled/layouts.h"

#include <map>

#include "kernels/transpose.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

// Both layouts of such an image are the same.
bool has_one_layout(const Shape& shape) {
  return shape.size() != 3 || shape[0] == 1 || shape[1] * shape[2] == 1;
}

const LayerPasses kInward = {.forward =
                                 [](const LayerWork& work) {
                                   transpose_each(work.examples, work.inputs / work.pixels, work.pixels,
                                                  work.input, work.output);
                                 },
                             .backward_input =
                                 [](const LayerWork& work) {
                                   transpose_each(work.examples, work.pixels, work.inputs / work.pixels,
                                                  work.output_gradient, work.input_gradient);
                                 }};

const LayerPasses kOutward = {.forward =
                                  [](const LayerWork& work) {
                                    transpose_each(work.examples, work.pixels, work.inputs / work.pixels,
                                                   work.input, work.output);
                                  },
                              .backward_input =
                                  [](const LayerWork& work) {
                                    transpose_each(work.examples, work.inputs / work.pixels, work.pixels,
                                                   work.output_gradient, work.input_gradient);
                                  }};

bool reads_images(const Node& node, const std::vector<PlacedLayer>& layers) {
  return layers[node.layer].input_shape.size() == 3;
}

// From those that want their channels inside to their neighbours, and on to theirs.
void spread_layouts(std::vector<Node>& nodes, const std::vector<PlacedLayer>& layers) {
  for (Node& node : nodes)
    node.channels_inside = node.passes->layout == ImageLayout::kChannelsInside && reads_images(node, layers);
  bool changed = true;
  const auto follow = [&](Node& node, const Node& neighbour) {
    if (node.channels_inside || !neighbour.channels_inside || !reads_images(node, layers)) return;
    if (node.passes->layout == ImageLayout::kEither) node.channels_inside = changed = true;
  };
  while (changed) {
    changed = false;
    for (Node& node : nodes) {
      for (const int64_t value : {node.input, node.with}) {
        if (value == kModelInput) continue;
        Node& maker = nodes[static_cast<size_t>(value)];
        follow(node, maker);
        follow(maker, node);
      }
    }
  }
}

// Copies nodes with what turns around their images.
class Turning {
 public:
  Turning(const std::vector<Node>& nodes, const std::vector<PlacedLayer>& layers)
      : nodes_(nodes), layers_(layers) {}

  void add(Node node) {
    const Shape& shape = layers_[node.layer].input_shape;
    node.input = read(node.input, node.channels_inside, shape);
    if (kind_of(layers_[node.layer]).combine != nullptr)
      node.with = read(node.with, node.channels_inside, shape);
    places_.push_back(std::ssize(all_));
    all_.push_back(std::move(node));
  }
  // The number of what has this value (a number in `nodes`) in this layout. `shape`: of the model's input.
  int64_t read(int64_t value, bool channels_inside, const Shape& shape) {
    const bool is_input = value == kModelInput;
    const Node& maker = is_input ? Node{} : nodes_[static_cast<size_t>(value)];
    const Shape& image = is_input ? shape : layers_[maker.end - 1].output_shape;
    const int64_t place = is_input ? value : places_[static_cast<size_t>(value)];
    if (maker.channels_inside == channels_inside || has_one_layout(image)) return place;
    const auto [turned, is_new] = turned_.try_emplace(value, std::ssize(all_));
    if (is_new) {
      const size_t layer = is_input ? 0 : maker.end - 1;
      all_.push_back({.passes = channels_inside ? &kInward : &kOutward,
                      .layer = layer,
                      .end = layer + 1,
                      .input = place,
                      .turned = image});
    }
    return turned->second;
  }
  std::vector<Node> take() { return std::move(all_); }

 private:
  const std::vector<Node>& nodes_;
  const std::vector<PlacedLayer>& layers_;
  std::vector<Node> all_;
  std::vector<int64_t> places_;        // of the nodes in `all_`
  std::map<int64_t, int64_t> turned_;  // by the number of the value
};

}  // namespace

std::vector<Node> with_layouts(std::vector<Node> nodes, const std::vector<PlacedLayer>& layers,
                               int64_t& output) {
  spread_layouts(nodes, layers);
  Turning turning(nodes, layers);
  for (const Node& node : nodes) turning.add(node);
  output = turning.read(output, /*channels_inside=*/false, {});
  return turning.take();
}

}  // namespace dtrain
