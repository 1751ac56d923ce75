// The result of a comparison in words.
#pragma once

#include <string>

#include "runs/comparison.h"

namespace dtrain {

// One sentence that says whether distributing made training faster (examples per second more than 5 % up or
// down) and whether the model is as good (the main metric of its loss: an accuracy within half a
// point, another metric within 1 %). Uses all fields of
// `comparison` except `verdict`.
std::string verdict(const Comparison& comparison);

}  // namespace dtrain
