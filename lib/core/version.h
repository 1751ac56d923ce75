// The version of dtrain.
#pragma once

namespace dtrain {

extern const char* const kVersion;  // that of project() in CMakeLists.txt

}  // namespace dtrain
