#include "core/memory.h"

#include <cstdlib>  // also defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dtrain {

void keep_freed_memory() {
#ifdef __GLIBC__
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") || std::getenv("MALLOC_TRIM_THRESHOLD_")) return;
  constexpr int kThreshold = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kThreshold);
  mallopt(M_TRIM_THRESHOLD, kThreshold);
#endif
}

}  // namespace dtrain
