// The page of a tune.
#pragma once

#include <string>

#include "runs/tune_results.h"

namespace dtrain {

// A self-contained HTML page: the best trial, the course of all, and the table of them.
std::string tune_page(const Tune& tune);

}  // namespace dtrain
