// The rules between fields, in one place.
#pragma once

#include "spec/load.h"

namespace dtrain {

// Adds the problems that arise between fields. A rule complains about what was written, never about a
// default, and is silent about fields that already have a problem of their own.
void check_rules(LoadedSpec& loaded);

}  // namespace dtrain
