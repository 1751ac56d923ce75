// A system without /proc, for tests that run in a process of their own.
#pragma once

#include <sched.h>
#include <sys/mount.h>

namespace dtrain {

// Hides /proc from this process and those that it starts; before it has threads. False where the kernel lets
// nobody have a view of his own of the mounts.
inline bool hide_proc() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

}  // namespace dtrain
