// Residual networks (He et al. 2016, Deep Residual Learning for Image Recognition, arXiv:1512.03385): blocks
// of convolutions whose output is added to their input, which is projected if the shape changes.
#include <fmt/format.h>

#include "architectures/networks.h"

namespace dtrain {
namespace {

// Names of layers begin with stage1_block1 and so on; a block's own name is that of its output.
struct ResidualDesign {
  int64_t stem_filters = 64;     // and those of the first stage
  std::vector<int64_t> blocks;   // of each stage; a stage has twice the filters of the one before
  bool bottleneck = false;       // 1x1, 3x3 and 1x1 convolutions instead of two of 3x3
  int64_t widening = 1;          // of the inner convolutions of a bottleneck
  bool large_stem = true;        // 7x7 and a pooling, each with a stride of 2, instead of 3x3
  bool stride_in_middle = true;  // of a bottleneck: its 3x3 convolution has the stride, else the first 1x1
  bool has_torchvision_names = true;
};

class ResidualNetwork {
 public:
  ResidualNetwork(LayerList& list, const ResidualDesign& design) : list_(list), design_(design) {}

  void write() {
    stem();
    channels_ = design_.stem_filters;
    for (size_t stage = 0; stage < design_.blocks.size(); ++stage) {
      for (int64_t block = 0; block < design_.blocks[stage]; ++block) {
        torchvision_ = fmt::format("layer{}.{}.", stage + 1, block);
        const bool halves = stage > 0 && block == 0;
        residual(fmt::format("stage{}_block{}", stage + 1, block + 1), design_.stem_filters << stage,
                 halves ? 2 : 1);
      }
    }
  }

 private:
  void stem() {
    const bool large = design_.large_stem;
    convolution({.filters = design_.stem_filters, .kernel_size = large ? 7 : 3, .stride = large ? 2 : 1},
                "conv1", "bn1");
    list_.add("relu");
    list_.name_last(last_ = "stem");
    if (!large) return;
    list_.add_pool("max_pool2d", 3, 2, "symmetric");
    list_.name_last(last_ = "stem_pool");
  }

  // Two 3x3 convolutions, or three convolutions in a bottleneck, and the shortcut around them.
  void residual(const std::string& name, int64_t filters, int64_t stride) {
    const int64_t outputs = design_.bottleneck ? 4 * filters : filters;
    const std::string input = last_;
    if (design_.bottleneck) {
      const int64_t inner = filters * design_.widening;
      const int64_t first = design_.stride_in_middle ? 1 : stride;
      convolution({.filters = inner, .kernel_size = 1, .stride = first}, "conv1", "bn1");
      list_.add("relu");
      convolution({.filters = inner, .stride = stride / first}, "conv2", "bn2");
      list_.add("relu");
      convolution({.filters = outputs, .kernel_size = 1}, "conv3", "bn3");
    } else {
      convolution({.filters = filters, .stride = stride}, "conv1", "bn1");
      list_.add("relu");
      convolution({.filters = outputs}, "conv2", "bn2");
    }
    std::string around = input;
    if (stride != 1 || channels_ != outputs) {
      list_.name_last(around = name + "_body");
      convolution({.filters = outputs, .kernel_size = 1, .stride = stride}, "downsample.0", "downsample.1",
                  input);
    }
    list_.add_sum(around);
    list_.add("relu");
    list_.name_last(last_ = name);
    channels_ = outputs;
  }

  // Without a bias: the normalisation after it would cancel one.
  void convolution(ConvFields own, const char* name, const char* norm_name,
                   const std::optional<std::string>& from = std::nullopt) {
    own.use_bias = false;
    const auto torchvision = [&](const char* own) {
      return design_.has_torchvision_names ? torchvision_ + own : "";
    };
    list_.add_convolution(own, torchvision(name), from);
    list_.add_batch_norm(torchvision(norm_name));
  }

  LayerList& list_;
  const ResidualDesign& design_;
  std::string last_;         // the name of the last block
  std::string torchvision_;  // what torchvision's names in this block begin with
  int64_t channels_ = 0;
};

// Table 1 and figure 5.
ResidualDesign design_of(const LayerList& list) {
  const ModelSpec& model = list.model();
  const int64_t depth = list.depth();
  ResidualDesign design;
  design.blocks = depth == 18    ? std::vector<int64_t>{2, 2, 2, 2}
                  : depth == 101 ? std::vector<int64_t>{3, 4, 23, 3}
                                 : std::vector<int64_t>{3, 4, 6, 3};
  design.bottleneck = depth >= 50;
  design.large_stem = model.stem == "large";
  design.stride_in_middle = model.bottleneck_stride == "middle";
  return design;
}

}  // namespace

void resnet_base(LayerList& list) { ResidualNetwork(list, design_of(list)).write(); }

// Zagoruyko and Komodakis 2016, Wide Residual Networks (arXiv:1605.07146), section 4.5, as in torchvision:
// the bottlenecks of a ResNet with inner convolutions of twice the width. At the depths of its other sections
// it is their network for small images.
void wide_resnet_base(LayerList& list) {
  if (is_widened(list)) return widened_resnet_base(list);
  ResidualDesign design = design_of(list);
  design.widening = 2;
  ResidualNetwork(list, design).write();
}

// Section 4.2, for images of 32x32: three stages of 16, 32 and 64 filters. Where the shape changes, the
// shortcut is a projection (option B); the paper's own of this section (option A) has no parameters.
void cifar_resnet_base(LayerList& list) {
  const int64_t blocks = (list.depth() - 2) / 6;
  ResidualDesign design;
  design.stem_filters = 16;
  design.blocks = {blocks, blocks, blocks};
  design.large_stem = false;
  design.has_torchvision_names = false;
  ResidualNetwork(list, design).write();
}

void resnet_top(LayerList& list, int64_t outputs) {
  list.add("global_avg_pool2d");
  const bool widened = is_widened(list);
  if (!widened) list.add_dropout();  // else it is in the blocks
  list.add_dense(outputs, widened || list.model().kind == "cifar_resnet" ? "" : "fc");
}

}  // namespace dtrain
