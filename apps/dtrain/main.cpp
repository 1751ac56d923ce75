// The program: everything happens in lib/cli, but for what comes before the shared libraries initialise
// themselves, and which kinds of layers and plug-ins there are.
#include <unistd.h>

#include <climits>
#include <cstring>
#include <string_view>

#include "cli/cli.h"
#include "job_file/load.h"
#include "layers/table.h"
#include "plugins/load_plugin.h"

namespace {

// MKL asks for the working folder while it is loaded, and ends the program with a line about a library if
// there is none.
void require_working_folder() {
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof folder) != nullptr) return;
  constexpr std::string_view kText =
      "dtrain: the working directory was removed, or cannot be looked up: change to another one (cd)\n";
  static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
  ::_exit(2);
}

// OpenMP's runtime reads these variables when it is loaded, and binds the first thread to one core. Replicas
// would all inherit that core; we place them ourselves (host/cores.h).
constexpr const char* kPlacing[] = {"OMP_PROC_BIND=", "OMP_PLACES=", "GOMP_CPU_AFFINITY="};

[[gnu::no_sanitize("address", "undefined")]] bool is_placing(const char* entry) {
  for (const char* name : kPlacing) {
    if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
  }
  return false;
}

[[gnu::no_sanitize("address", "undefined")]] void drop_placing(char** environment) {
  char** to = environment;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (!is_placing(*entry)) *to++ = *entry;
  }
  *to = nullptr;
}

[[gnu::no_sanitize("address", "undefined")]] void before_libraries(int, char**, char** environment) {
  require_working_folder();
  drop_placing(environment);
}

// Called before anything that shared libraries do when they are loaded, so that it may use none but what
// needs no initialising.
[[gnu::used, gnu::section(".preinit_array")]] void (*const kFirst)(int, char**, char**) = before_libraries;

}  // namespace

int main(int argc, char** argv) {
  dtrain::add_layer_kinds(dtrain::shipped_layers());
  dtrain::set_plugin_loader(dtrain::load_plugin);
  return dtrain::run_command_line(argc, argv);
}
