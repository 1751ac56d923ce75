// Shows a learning-rate range test.
#pragma once

#include <string>
#include <vector>

#include "display/chart.h"
#include "runs/rate_test.h"

namespace dtrain {

// How the test ended and what it says, in a few sentences.
std::vector<std::string> rate_sentences(const RateTest& test);

// For a terminal: the smoothed loss over the rate, and rate_sentences().
std::string rate_plot(const RateTest& test);

// The losses and their average over the rate.
LineChart rate_chart(const RateTest& test);

}  // namespace dtrain
