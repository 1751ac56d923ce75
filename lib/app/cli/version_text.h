// What `dtrain --version` prints.
#pragma once

#include <string>

namespace dtrain {

// "dtrain 0.1.0 (LibTorch 2.11.0)"
std::string short_version();

// The same with dtrain's licence, and the name, version and licence of every library inside this
// installation: the text that cmake/components.cmake has written beside it, share/doc/dtrain/COMPONENTS. A
// program in its build folder has nothing inside and says where to look.
std::string long_version();

}  // namespace dtrain
