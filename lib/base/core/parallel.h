// Work on many things, divided among threads.
#pragma once

#include <cstdint>
#include <functional>

namespace dtrain {

// Calls work(index) once for each index from 0 to count - 1, by at most `threads` threads of its own, in any
// order. When a call throws, no further ones begin, and one of the exceptions is thrown here.
void for_each_in_threads(int64_t count, int64_t threads, const std::function<void(int64_t index)>& work);

}  // namespace dtrain
