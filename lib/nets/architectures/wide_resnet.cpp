// Wide residual networks for small images (Zagoruyko and Komodakis 2016, Wide Residual Networks,
// arXiv:1605.07146, table 1), as the authors have programmed them:
// https://github.com/szagoruyko/wide-residual-networks
#include <fmt/format.h>

#include "architectures/networks.h"
#include "traits/models.h"

namespace dtrain {
namespace {

constexpr int64_t kFilters = 16;  // of the first convolution, and of the first group before it is widened
constexpr int64_t kGroups = 3;
constexpr int64_t kUsualFactor = 10;

// Names of layers begin with group1_block1 and so on; a block's own name is that of its output. Normalisation
// and relu come before a convolution, so that a block adds what nothing has cut.
class WideNetwork {
 public:
  explicit WideNetwork(LayerList& list) : list_(list) {}

  void write() {
    list_.add_convolution({.filters = kFilters, .use_bias = false});
    list_.name_last(last_ = "stem");
    const int64_t blocks = (list_.depth() - 4) / 6;
    for (int64_t group = 0; group < kGroups; ++group) {
      for (int64_t block = 0; block < blocks; ++block) {
        const bool halves = group > 0 && block == 0;
        residual(fmt::format("group{}_block{}", group + 1, block + 1),
                 (kFilters * list_.model().widen_factor.value_or(kUsualFactor)) << group, halves ? 2 : 1);
      }
    }
    activate("features");
  }

 private:
  // Where the shape changes, the shortcut is a projection of what the block's first convolution gets, else
  // the block's own input.
  void residual(const std::string& name, int64_t filters, int64_t stride) {
    const bool projects = stride != 1 || channels_ != filters;
    const std::string activated = name + "_input", body = name + "_body";
    activate(activated);
    list_.add_convolution({.filters = filters, .stride = stride, .use_bias = false});
    activate(name + "_middle");
    list_.add_dropout();
    list_.add_convolution({.filters = filters, .use_bias = false});
    if (projects) {
      list_.name_last(body);
      list_.add_convolution({.filters = filters, .kernel_size = 1, .stride = stride, .use_bias = false},
                            /*torchvision=*/"", activated);
    }
    list_.add_sum(projects ? body : last_);
    list_.name_last(last_ = name);
    channels_ = filters;
  }

  void activate(const std::string& name) {
    list_.add_batch_norm();
    list_.add("relu");
    list_.name_last(name);
  }

  LayerList& list_;
  std::string last_;  // the name of the last block
  int64_t channels_ = kFilters;
};

}  // namespace

bool is_widened(const LayerList& list) {
  const ModelTraits& traits = model_traits(list.model().kind);
  return !traits.widened_depths.empty() && traits.widens(list.depth());
}

void widened_resnet_base(LayerList& list) { WideNetwork(list).write(); }

}  // namespace dtrain
