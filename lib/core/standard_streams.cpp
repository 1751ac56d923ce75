#include "core/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace dtrain {

void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free, which is this one; O_PATH: every read and write is an error.
    [[maybe_unused]] const int taken = ::open("/", O_PATH);
  }
}

}  // namespace dtrain
