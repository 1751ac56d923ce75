// The program: everything happens in lib/cli.
#include <cstring>

#include "cli/cli.h"

namespace {

// OpenMP's runtime reads these variables when it is loaded, and binds the first thread to one core. Replicas
// would all inherit that core; we place them ourselves (host/cores.h).
constexpr const char* kPlacing[] = {"OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY="};

bool is_placing(const char* entry) {
  for (const char* name : kPlacing) {
    if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
  }
  return false;
}

// Before any library is initialised, so that it may use none but what needs no initialising.
[[gnu::no_sanitize("address", "undefined")]] void drop_placing(int, char**, char** environment) {
  char** to = environment;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (!is_placing(*entry)) *to++ = *entry;
  }
  *to = nullptr;
}

[[gnu::used, gnu::section(".preinit_array")]] void (*const kFirst)(int, char**, char**) = drop_placing;

}  // namespace

int main(int argc, char** argv) { return dtrain::run_command_line(argc, argv); }
