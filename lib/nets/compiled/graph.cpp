#include "compiled/graph.h"

#include <ATen/ATen.h>

#include <utility>

#include "compiled/layouts.h"
#include "models/layer_kinds.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

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
  int64_t output = makers.back();
  nodes = with_layouts(std::move(nodes), layers, output);
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
