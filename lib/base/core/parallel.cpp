#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dtrain {

void for_each_in_threads(int64_t count, int64_t threads, const std::function<void(int64_t index)>& work) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;  // guards failure
  std::exception_ptr failure;
  const auto take_turns = [&] {
    try {
      for (int64_t index = next++; index < count; index = next++) work(index);
    } catch (...) {
      next = count;  // the others need not go on
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;  // joined at the end of the scope
    for (int64_t thread = 0; thread < std::min(threads, count); ++thread) workers.emplace_back(take_turns);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dtrain
