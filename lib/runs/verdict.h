// The comparison in words.
#pragma once

#include <string>

#include "runs/comparison.h"

namespace dtrain {

// One sentence: whether distributing made training faster (examples per second more than 5 % up or down) and
// whether the model is as good (evaluation accuracy within half a point). Reads all of `comparison` but its
// verdict.
std::string verdict(const Comparison& comparison);

}  // namespace dtrain
