// Tables of kinds, to which plug-ins may add some.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>

namespace dtrain {

// How often a kind was added to those that the program has by itself.
inline std::atomic<int64_t> kinds_added = 0;

// A table that depends on which kinds there are: it is made when it is asked for, and again when kinds were
// added since. What was given out before stays valid, and has the kinds of its time.
template <class Table>
class RemadeTable {
 public:
  explicit RemadeTable(Table (*make)()) : make_(make) {}

  const Table& get() {
    const std::lock_guard lock(mutex_);
    if (versions_.empty() || made_at_ != kinds_added) {
      made_at_ = kinds_added;
      versions_.push_back(make_());
    }
    return versions_.back();
  }

 private:
  Table (*make_)();
  std::mutex mutex_;
  std::list<Table> versions_;
  int64_t made_at_ = 0;
};

}  // namespace dtrain
