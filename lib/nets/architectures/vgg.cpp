// Simonyan and Zisserman 2015, Very Deep Convolutional Networks for Large-Scale Image Recognition
// (arXiv:1409.1556), table 1: configurations A, B, D and E, as in torchvision.
#include <fmt/format.h>

#include "architectures/networks.h"

namespace dtrain {

void vgg_base(LayerList& list) {
  const int64_t depth = list.depth();
  // Between one pooling and the next.
  const std::vector<int64_t> convolutions = depth == 11   ? std::vector<int64_t>{1, 1, 2, 2, 2}
                                            : depth == 13 ? std::vector<int64_t>{2, 2, 2, 2, 2}
                                            : depth == 16 ? std::vector<int64_t>{2, 2, 3, 3, 3}
                                                          : std::vector<int64_t>{2, 2, 4, 4, 4};
  int64_t number = 0;  // torchvision counts all layers
  const auto next = [&number] { return fmt::format("features.{}", number++); };
  for (size_t stage = 0; stage < convolutions.size(); ++stage) {
    const int64_t filters = std::min<int64_t>(int64_t{64} << stage, 512);
    for (int64_t i = 0; i < convolutions[stage]; ++i) {
      list.add_convolution({.filters = filters}, next());
      if (list.model().batch_norm) list.add_batch_norm(next());
      list.add("relu");
      ++number;
    }
    list.add("max_pool2d");
    ++number;
  }
}

// For images of 224x224 the feature maps are 7x7, and the pooling leaves them as they are.
void vgg_top(LayerList& list, int64_t outputs) {
  list.add({.kind = "adaptive_avg_pool2d", .own = AdaptivePoolFields{7}});
  list.add("flatten");
  for (const char* name : {"classifier.0", "classifier.3"}) {
    list.add_dense(4096, name);
    list.add("relu");
    list.add_dropout();
  }
  list.add_dense(outputs, "classifier.6");
}

}  // namespace dtrain
