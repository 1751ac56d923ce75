#include "core/version.h"

namespace dtrain {

const char* const kVersion = DTRAIN_VERSION;

}  // namespace dtrain
