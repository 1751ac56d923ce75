// LeCun, Bottou, Bengio and Haffner 1998, Gradient-Based Learning Applied to Document Recognition, figure 2.
#include "architectures/networks.h"

namespace dtrain {
namespace {

void lenet_block(LayerList& list, int64_t filters, const std::string& padding) {
  list.add({.kind = "conv2d",
            .own = ConvFields{.filters = filters,
                              .kernel_size = 5,
                              .padding = padding,
                              .initializer = list.model().initializer}});
  list.add("tanh");
  list.add("avg_pool2d");
}

}  // namespace

// As it is taught and built today: every map of the second convolution sees all of the first, the averages
// have no weights of their own, and the last layer is dense. The paper pads MNIST's images by two pixels.
void lenet5_base(LayerList& list) {
  lenet_block(list, 6, "symmetric");
  lenet_block(list, 16, "valid");
}

void lenet5_top(LayerList& list, int64_t outputs) {
  list.add("flatten");
  for (const int64_t units : {120, 84}) {
    list.add_dense(units);
    list.add("tanh");
  }
  list.add_dropout();
  list.add_dense(outputs);
}

}  // namespace dtrain
