#include "spec/layer_kinds.h"

#include "core/named.h"
#include "core/remade_table.h"
#include "spec/added_kinds.h"
#include "spec/field_table.h"

namespace dtrain {
namespace {

struct LayerTraits {
  std::string name;
  Fields<KindFields> fields = {};
  std::optional<std::string> (*activation)(const KindFields& own) = nullptr;  // null: it has no such field
};

const Choices kPaddings{"padding", {"valid", "same", "symmetric"}};

// What a layer may be called.
constexpr const char* kLayerName = "[A-Za-z][A-Za-z0-9_]{0,63}";
constexpr const char* kOfLayerName = "up to 64 letters, digits and '_', the first a letter";

// clang-format off

// Of a kind that slides a window: `first`, and those of the window's steps.
template <class Own>
Fields<KindFields> sliding_fields(const Fields<KindFields>& first) {
  return joined<KindFields>({first, {
      KIND_FIELD(Own, stride, .doc = "the step of the kernel or window", .unit = "pixels", .bounds = between(1, 1024),
                 .otherwise = "conv2d: 1; pools: `pool_size`"),
      KIND_FIELD(Own, padding, .doc = "valid: none; same: zeros, so that a stride of 1 keeps the size, an odd one at "
          "the end as in TensorFlow; symmetric: half the window on every side, as in PyTorch; averages do not count "
          "padding, like PyTorch's with count_include_pad=False", .choices = &kPaddings),
  }});
}

// A kind with a kernel: `first`, and the fields of the kernel.
template <class Own>
LayerTraits weighted_traits(const std::string& name, const Fields<KindFields>& first) {
  return {name, joined<KindFields>({first, {
      KIND_FIELD(Own, use_bias, .doc = "add a learned bias"),
      KIND_FIELD(Own, activation, .doc = "short for a layer of this kind after it; if another layer names this one, it "
          "gets the output of the activation", .choices = &activation_kinds(), .word = "none"),
      KIND_FIELD(Own, initializer, .doc = "the distribution of the initial weights; the bias starts at zero",
                 .choices = &initializer_kinds()),
  }}), [](const KindFields& own) { return own.get<Own>().activation; }};
}

LayerTraits conv2d_traits() {
  return weighted_traits<ConvFields>("conv2d", joined<KindFields>({sliding_fields<ConvFields>({
      KIND_FIELD(ConvFields, filters, .doc = "output channels", .unit = "filters", .bounds = between(1, 1e6),
                 .required = true),
      KIND_FIELD(ConvFields, kernel_size, .doc = "height and width of the kernel", .unit = "pixels",
                 .bounds = between(1, 1024)),
  }), {
      KIND_FIELD(ConvFields, groups, .doc = "divides the input channels and the filters into this many groups, and "
          "each filter uses only the channels of its own group; as many groups as channels: a depthwise convolution. "
          "Both numbers must be multiples of it", .bounds = between(1, 1e6)),
  }}));
}

const std::vector<LayerTraits>& all_layers() {
  return remade([] {
    const Fields<KindFields> pool = sliding_fields<PoolFields>({
        KIND_FIELD(PoolFields, pool_size, .doc = "height and width of the pooled window", .unit = "pixels",
                   .bounds = between(1, 1024)),
    });
    const auto epsilon = KIND_FIELD(NormFields, epsilon, .doc = "added to the variance", .bounds = above_zero_to(1));
    std::vector<LayerTraits> all = {
        conv2d_traits(),
        {"max_pool2d", pool},
        {"avg_pool2d", pool},
        {"global_avg_pool2d"},
        {"adaptive_avg_pool2d", {
            KIND_FIELD(AdaptivePoolFields, output_size, .doc = "height and width of the output: each of its pixels is "
                "the mean of the corresponding part of the input, as in PyTorch", .unit = "pixels",
                .bounds = between(1, 1024), .required = true),
        }},
        {"flatten"},
        weighted_traits<DenseFields>("dense", {
            KIND_FIELD(DenseFields, units, .doc = "outputs", .unit = "units", .bounds = between(1, 1e6),
                       .required = true),
        }),
    };
    for (const std::string& name : activation_kinds().built) all.push_back({name});
    const std::vector<LayerTraits> others = {
        {"batch_norm", {
            KIND_FIELD(NormFields, momentum, .doc = "the share of the moving statistics that a step keeps",
                       .bounds = zero_to_below_one()),
            epsilon,
        }},
        {"layer_norm", {epsilon}},
        {"group_norm", {KIND_FIELD(NormFields, groups, .doc = "the channels of an example, or its features, are "
            "normalised in so many groups, which must divide their number", .bounds = between(1, 1e6)), epsilon}},
        {"dropout", {
            KIND_FIELD(DropoutFields, rate, .doc = "the share of inputs set to zero while training",
                       .bounds = zero_to_below_one()),
        }},
        {"stochastic_depth", {
            KIND_FIELD(DropoutFields, rate, .doc = "the share of examples set to zero as a whole while training",
                       .bounds = zero_to_below_one()),
        }},
        {"add", {
            KIND_FIELD(PairFields, with, .doc = "the name of the earlier layer whose output is added to this one's "
                "input", .pattern = kLayerName, .made_of = kOfLayerName, .required = true),
        }},
        {"patch_embedding", {
            KIND_FIELD(PatchFields, patch, .doc = "height and width of the patches, which must fill the images",
                       .unit = "pixels", .bounds = between(1, 1024)),
            KIND_FIELD(PatchFields, units, .doc = "features of a token", .unit = "units", .bounds = between(1, 1e6),
                       .required = true),
        }},
        {"class_token"},
        {"positional_embedding"},
        {"attention", {
            KIND_FIELD(AttentionFields, heads, .doc = "the features are divided among so many heads, which must divide "
                "their number", .bounds = between(1, 1e6), .required = true),
            KIND_FIELD(AttentionFields, dropout, .doc = "the share of attention weights set to zero while training",
                       .bounds = zero_to_below_one()),
        }},
        {"first_token"},
    };
    all.insert(all.end(), others.begin(), others.end());
    for (const AddedKind& kind : added_kinds(AddedKind::kLayer)) all.push_back({kind.name, kind.fields});
    return all;
  });
}

#define LAYER(...) FIELD(LayerSpec, __VA_ARGS__)

}  // namespace

template <>
const EntryList<LayerSpec>& entry_list() {
  static const std::vector<std::string> kMostUsedFirst = {
      "units",    "filters",    "kernel_size", "pool_size", "stride",   "padding", "output_size", "groups",
      "use_bias", "activation", "initializer", "rate",      "momentum", "epsilon", "with",
      "patch",    "heads"};
  return remade([] { return EntryList<LayerSpec>{
      .path = "model.layers", .one = "a layer", .many = "layers", .example = "{kind: dense, units: 10}",
      .kinds = layer_kinds(), .fields = joined<LayerSpec>({{
      LAYER(kind, .doc = "the kind of layer; layer_norm normalises each example separately, over its features, or "
          "those of each token, or at each pixel over the channels; patch_embedding makes tokens of patches, and "
          "first_token is the first of them ([tokens](models.md#tokens))", .choices = &layer_kinds(), .required = true),
  }, fields_of_kinds<LayerSpec>(all_layers(), "", [](auto& layer) -> auto& { return layer; }, kMostUsedFirst), {
      LAYER(name, .doc = "the name that other layers use for it, and that its variables begin with",
            .pattern = kLayerName, .made_of = kOfLayerName, .otherwise = "kind and number, such as `dense_1`"),
      LAYER(from, .doc = "the name of the earlier layer whose output is this one's input", .pattern = kLayerName,
            .otherwise = "the layer before it"),
  }})}; });
}
// clang-format on

// Each is a kind of layer, too.
const Choices& activation_kinds() {
  static const Choices choices{"activation", {"relu", "relu6", "gelu", "silu", "tanh", "sigmoid"}};
  return choices;
}

const Choices& layer_kinds() {
  return remade([] { return Choices{"layer", names_of_rows(all_layers())}; });
}

std::optional<std::string> activation_of(const LayerSpec& layer) {
  for (const LayerTraits& kind : all_layers()) {
    if (kind.name == layer.kind && kind.activation != nullptr) return kind.activation(layer.own);
  }
  return std::nullopt;
}

}  // namespace dtrain
