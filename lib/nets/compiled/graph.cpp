#include "compiled/graph.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

#include "kernels/transpose.h"
#include "models/layer_kinds.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

// Both layouts of such an image are the same.
bool has_one_layout(const Shape& shape) {
  return shape.size() != 3 || shape[0] == 1 || shape[1] * shape[2] == 1;
}

// Turns images around: their channels inside, or back by channels.
void turn(const LayerWork& work, bool inward, const float* from, float* to) {
  const int64_t channels = work.inputs / work.pixels;
  transpose_each(work.examples, inward ? channels : work.pixels, inward ? work.pixels : channels, from, to);
}

template <bool kInward>
constexpr LayerPasses kTurning = {
    .forward = [](const LayerWork& work) { turn(work, kInward, work.input, work.output); },
    .backward_input =
        [](const LayerWork& work) { turn(work, !kInward, work.output_gradient, work.input_gradient); }};

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
      all_.push_back({.passes = channels_inside ? &kTurning<true> : &kTurning<false>,
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

void find_readers(std::vector<Node>& nodes, int64_t output) {
  const auto read = [&](int64_t value, int64_t reader) {
    if (value == kModelInput) return;
    Node& node = nodes[static_cast<size_t>(value)];
    ++node.readers;
    node.last_reader = reader;
  };
  for (int64_t i = 0; i < std::ssize(nodes); ++i) {
    const Node& node = nodes[static_cast<size_t>(i)];
    read(node.input, i);
    read(node.with, i);
  }
  read(output, std::ssize(nodes));
}

void find_shared_places(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    if (!node.passes->in_place || node.input == kModelInput) continue;
    Node& before = nodes[static_cast<size_t>(node.input)];
    if (before.readers > 1) continue;
    node.in_place = true;
    node.overwrites = !node.passes->reads_input && !before.passes->reads_output;
    before.shares_gradient = true;
  }
}

}  // namespace

std::vector<Node> nodes_of(const std::vector<PlacedLayer>& layers, size_t first, bool training) {
  std::vector<Node> nodes;
  std::vector<int64_t> makers(layers.size() + 1, kModelInput);  // of the output of layer i - 1
  const auto maker_of = [&](int64_t layer) { return makers[static_cast<size_t>(layer + 1)]; };
  for (size_t i = first, next = i; i < layers.size(); i = next) {
    const auto [passes, together] = match_layers(layers, i);
    next = i + together;
    const int64_t input = maker_of(layers[i].input);
    const bool computes = passes->forward != nullptr && (training || !passes->only_in_training);
    if (computes)
      nodes.push_back(
          {.passes = passes, .layer = i, .end = next, .input = input, .with = maker_of(layers[i].with)});
    makers[next] = computes ? std::ssize(nodes) - 1 : input;
  }
  // Channels are innermost where a layer wants it, and in the layers next to it that can have it so: images
  // are turned around only where a chain of such layers begins or ends. Those of the model's output, like
  // those of its input, lie by channels.
  spread_layouts(nodes, layers);
  Turning turning(nodes, layers);
  for (const Node& node : nodes) turning.add(node);
  const int64_t output = turning.read(makers.back(), /*channels_inside=*/false, {});
  nodes = turning.take();
  find_readers(nodes, output);
  find_shared_places(nodes);
  return nodes;
}

LayerWork sizes_of(const Node& node, const std::vector<PlacedLayer>& layers, int64_t examples) {
  LayerWork work;
  work.layer = &layers[node.layer];
  work.examples = examples;
  work.channels_inside = node.channels_inside;
  if (!node.turned.empty()) {
    work.inputs = work.outputs = bounded_product(node.turned);
    work.pixels = node.turned[1] * node.turned[2];
    return work;
  }
  work.inputs = bounded_product(layers[node.layer].input_shape);
  work.outputs = bounded_product(layers[node.end - 1].output_shape);
  return work;
}

at::Tensor LayerWork::view(const Shape& shape, const float* data) const {
  at::DimVector sizes{examples};
  sizes.append(shape.begin(), shape.end());
  if (!channels_inside || shape.size() != 3)
    return at::from_blob(const_cast<float*>(data), sizes, at::kFloat);
  const int64_t row = shape[0] * shape[2];
  return at::from_blob(const_cast<float*>(data), sizes, at::DimVector{row * shape[1], 1, row, shape[0]},
                       at::kFloat);
}

LayerMatch match_layers(const std::vector<PlacedLayer>& layers, size_t first) {
  const LayerKind& kind = kind_of(layers[first]);
  const LayerMatch better = kind.match == nullptr ? LayerMatch{} : kind.match(layers, first);
  return better.passes == nullptr ? LayerMatch{kind.passes} : better;
}

}  // namespace dtrain
