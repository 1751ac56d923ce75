// This process: its program, its standard streams, its memory.
#pragma once

#include <filesystem>

namespace dtrain {

// The path of this program, for code that starts it again: what `link` points to. Throws Error(kUsage) if
// /proc is not mounted: without it, replicas could neither be started nor share memory.
std::filesystem::path own_program(const std::filesystem::path& link = "/proc/self/exe");

// If our parent closed one of the three standard streams (`dtrain run job.yaml >&-`), opens in its place a
// descriptor that can be neither read nor written. Otherwise a file that is opened later would get its
// number, and our output would end up in that file. Call this first.
void occupy_standard_streams();

// Keeps large blocks in the heap between steps. Otherwise glibc returns every large activation to the kernel
// when it is freed and faults its pages in again in the next step (a step of a small CNN took 14.5 ms instead
// of 11.0). Call it before the first large allocation. Does nothing with another C library, or if the
// environment sets MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ (mallopt(3)): a user who is short of
// memory may prefer to have it returned.
void keep_freed_memory();

}  // namespace dtrain
