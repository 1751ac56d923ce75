// The allocator's settings for training.
#pragma once

namespace dtrain {

// Keeps big blocks in the heap between steps: glibc otherwise returns every large activation to the kernel
// when it is freed and faults its pages in again in the next step (a small CNN's step took 14.5 ms instead
// of 11.0). Call it before the first large allocation. Does nothing with another C library, nor where the
// environment sets MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ (mallopt(3)): whoever is short of memory
// may want the gaps of the heap back.
void keep_freed_memory();

}  // namespace dtrain
