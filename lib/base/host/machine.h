// The names of this machine and of its processor.
#pragma once

#include <string>

namespace dtrain {

// This host's name as the kernel knows it.
std::string own_host_name();

// The processor's name from the kernel, such as "AMD EPYC 7B13"; "unknown processor" if the kernel gives
// none.
std::string processor_name();

}  // namespace dtrain
