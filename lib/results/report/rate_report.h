// The page of a learning-rate range test.
#pragma once

#include <string>

#include "runs/rate_test.h"

namespace dtrain {

// A self-contained HTML page.
std::string rate_page(const RateTest& test);

}  // namespace dtrain
