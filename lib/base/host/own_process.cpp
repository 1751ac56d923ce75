#include "host/own_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>  // also defines __GLIBC__
#include <system_error>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/error.h"

namespace dtrain {

std::filesystem::path own_program(const std::filesystem::path& link) {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink(link, error);
  if (!error) return program;
  throw Error(ExitCode::kUsage,
              "{}: {}: dtrain needs it to start its processes; mount /proc (mount -t proc proc /proc), or "
              "give the container access to it",
              link.string(), error.message());
}

void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is this one. O_PATH makes every read and write fail.
    [[maybe_unused]] const int taken = ::open("/", O_PATH);
  }
}

void keep_freed_memory() {
#ifdef __GLIBC__
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") || std::getenv("MALLOC_TRIM_THRESHOLD_")) return;
  constexpr int kThreshold = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kThreshold);
  mallopt(M_TRIM_THRESHOLD, kThreshold);
#endif
}

}  // namespace dtrain
