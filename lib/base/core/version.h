// The version of dtrain.
#pragma once

namespace dtrain {

extern const char* const kVersion;  // the version given to project() in CMakeLists.txt

}  // namespace dtrain
