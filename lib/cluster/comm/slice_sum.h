// The element-wise sum of arrays.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <vector>

namespace dtrain {

// Computes output[i] = inputs[0][i] + inputs[1][i] + ... for every output, always in this order, so that the
// bits do not depend on which rank sums. Half precision is summed in float32 and rounded once. An output may
// be one of the inputs. Supports floating-point and integer types; throws Error(kBug) for others.
void sum_arrays(at::ScalarType type, const std::vector<const std::byte*>& inputs,
                const std::vector<std::byte*>& outputs, size_t count);

}  // namespace dtrain
