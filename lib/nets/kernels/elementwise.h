// Passes over numbers of float32, one at a time.
#pragma once

#include <cstdint>

namespace dtrain {

// to += from.
void accumulate(int64_t count, const float* from, float* to);

// to = max(from, 0); `to` may be `from`. Not-a-number stays.
void rectify(int64_t count, const float* from, float* to);

// to = gradient where the rectified number is above 0 (or not a number), else 0; `to` may be `gradient`.
void rectify_gradient(int64_t count, const float* rectified, const float* gradient, float* to);

}  // namespace dtrain
