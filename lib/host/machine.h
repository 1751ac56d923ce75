// What this machine is called.
#pragma once

#include <string>

namespace dtrain {

// This host's name, as the kernel has it.
std::string own_host_name();

// What the kernel calls the processor, such as "AMD EPYC 7B13"; "unknown processor" when it does not say.
std::string processor_name();

}  // namespace dtrain
