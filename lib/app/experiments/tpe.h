// Proposes what to try next from the results of earlier trials: a tree-structured Parzen estimator (Bergstra
// et al. 2011, "Algorithms for Hyper-Parameter Optimization"; Watanabe 2023, arXiv:2304.11127).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"

namespace dtrain {

// Proposals made from fewer trials than this would follow chance.
constexpr int64_t kTpeRandomTrials = 10;

struct TpeDimension {
  size_t choices = 0;  // its values are 0 to choices - 1, without an order; 0: it has numbers
  double from = 0;     // of numbers: the lowest and the highest
  double to = 0;
  bool logarithm = false;  // compare numbers by their logarithms; `from` is above 0
  bool whole = false;
};

// `loss`: the lower the better; infinite if the trial failed or still runs.
struct TpeTrial {
  std::vector<double> values;  // one of each dimension
  double loss = 0;
};

// The values to try next. The best of the trials, three in twenty but at most 25, and the others each make a
// density of kernels. Of some draws from the density of the best, takes the one that this density favours
// most over the other. `ended` trials, not those that run, count for the part.
std::vector<double> propose_by_tpe(const std::vector<TpeDimension>& space, std::vector<TpeTrial> trials,
                                   int64_t ended, RandomGenerator& random);

}  // namespace dtrain
