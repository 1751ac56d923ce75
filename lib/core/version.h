// The version of dtrain.
#pragma once

namespace dtrain {

extern const char* const kVersion;  // "0.1.0", from CMakeLists.txt

}  // namespace dtrain
