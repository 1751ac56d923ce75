// The names of this machine and of its processor, and what the processor can do.
#pragma once

#include <string>

namespace dtrain {

// This host's name as the kernel knows it.
std::string own_host_name();

// The processor's name from the kernel, such as "AMD EPYC 7B13"; "unknown processor" if the kernel gives
// none.
std::string processor_name();

// Whether the processor multiplies float16 itself (AVX512-FP16, ARM's half precision), which few do. Others
// convert each number.
bool multiplies_float16();

}  // namespace dtrain
