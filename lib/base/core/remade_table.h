// Tables of kinds, to which plug-ins may add some.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <type_traits>

namespace dtrain {

// How often a kind was added to those that the program has by itself.
inline std::atomic<int64_t> kinds_added = 0;

// A table that depends on which kinds there are: `make` makes it when somebody asks for it, and again if
// kinds were added since. Tables that were returned before stay valid, without the kinds added later. `make`
// is a lambda without captures: each lambda has a table of its own.
template <class Make>
requires(std::is_empty_v<Make>) const auto& remade(const Make& make) {
  static std::mutex mutex;
  static std::list<std::invoke_result_t<const Make&>> versions;
  static int64_t made_at = 0;
  const std::lock_guard lock(mutex);
  if (versions.empty() || made_at != kinds_added) {
    made_at = kinds_added;
    versions.push_back(make());
  }
  return versions.back();
}

}  // namespace dtrain
