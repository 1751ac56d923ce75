// Work that is cut into blocks.
#pragma once

#include <cstdint>
#include <functional>

namespace dtrain {

// Calls work(0) to work(blocks - 1), each once, by LibTorch's threads.
void run_blocks(int64_t blocks, const std::function<void(int64_t block)>& work);

}  // namespace dtrain
