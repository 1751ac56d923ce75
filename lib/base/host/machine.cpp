#include "host/machine.h"

#include <unistd.h>

#include <fstream>

#include "core/text.h"

namespace dtrain {

std::string own_host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace dtrain
