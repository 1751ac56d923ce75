#include "host/machine.h"

#include <unistd.h>

#include <fstream>

#include "core/text.h"

namespace dtrain {
namespace {

// What the kernel says of the first processor: the value of the line that begins with `name`; empty if none
// does.
std::string of_processor(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind(name, 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string own_host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

std::string processor_name() {
  const std::string name = of_processor("model name");
  return name.empty() ? "unknown processor" : name;
}

bool multiplies_float16() {
  const std::string words = " " + of_processor("flags") + of_processor("Features") + " ";  // of x86, of ARM
  return words.find(" avx512_fp16 ") != std::string::npos || words.find(" asimdhp ") != std::string::npos;
}

}  // namespace dtrain
