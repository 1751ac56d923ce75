#include "kernels/parallel_blocks.h"

#include <ATen/Parallel.h>

namespace dtrain {

void run_blocks(int64_t blocks, const std::function<void(int64_t block)>& work) {
  at::parallel_for(0, blocks, /*grain_size=*/1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) work(block);
  });
}

}  // namespace dtrain
