// Sandler et al. 2018, MobileNetV2: Inverted Residuals and Linear Bottlenecks (arXiv:1801.04381), table 2, as
// in torchvision.
#include <fmt/format.h>

#include "architectures/networks.h"

namespace dtrain {
namespace {

// A row of table 2: so many blocks, of which the first has the stride.
struct InvertedResiduals {
  int64_t expansion;  // of a block's inputs
  int64_t outputs;
  int64_t blocks;
  int64_t stride;
};

constexpr InvertedResiduals kRows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                       {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class MobileNet {
 public:
  explicit MobileNet(LayerList& list) : list_(list) {}

  void write() {
    const int64_t stem_filters = 32, last_filters = 1280;
    activated({.filters = stem_filters, .stride = 2}, "features.0");
    list_.name_last(last_ = "stem");
    channels_ = stem_filters;
    for (const InvertedResiduals& row : kRows) {
      for (int64_t i = 0; i < row.blocks; ++i) block(row, i == 0 ? row.stride : 1);
    }
    activated({.filters = last_filters, .kernel_size = 1}, fmt::format("features.{}", block_ + 1));
    list_.name_last("features");
  }

 private:
  // Expands the channels, filters each by itself, and projects them without an activation. Around it goes a
  // shortcut if the shape stays the same.
  void block(const InvertedResiduals& row, int64_t stride) {
    const std::string torchvision = fmt::format("features.{}.conv.", ++block_);
    const std::string name = fmt::format("block{}", block_);
    const int64_t inner = channels_ * row.expansion;
    int64_t part = 0;
    if (row.expansion != 1)
      activated({.filters = inner, .kernel_size = 1}, torchvision + std::to_string(part++));
    activated({.filters = inner, .stride = stride, .groups = inner}, torchvision + std::to_string(part++));
    list_.add_convolution({.filters = row.outputs, .kernel_size = 1, .use_bias = false},
                          torchvision + std::to_string(part));
    list_.add_batch_norm(torchvision + std::to_string(part + 1));
    if (stride == 1 && channels_ == row.outputs) list_.add_sum(last_);
    list_.name_last(last_ = name);
    channels_ = row.outputs;
  }

  // A convolution, its normalisation and relu6; torchvision numbers the three.
  void activated(ConvFields own, const std::string& torchvision) {
    own.use_bias = false;
    list_.add_convolution(own, torchvision + ".0");
    list_.add_batch_norm(torchvision + ".1");
    list_.add("relu6");
  }

  LayerList& list_;
  std::string last_;  // the name of the last block
  int64_t block_ = 0;
  int64_t channels_ = 0;
};

}  // namespace

void mobilenet_v2_base(LayerList& list) { MobileNet(list).write(); }

void mobilenet_v2_top(LayerList& list, int64_t outputs) {
  list.add("global_avg_pool2d");
  list.add_dropout();
  list.add_dense(outputs, "classifier.1");
}

}  // namespace dtrain
