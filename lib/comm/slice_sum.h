// The sum of arrays, element by element.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <vector>

namespace dtrain {

// Every output's [i] = inputs[0][i] + inputs[1][i] + ..., always in this order, so that the bits are the same
// whoever computes them. Half precision is summed in float32 and rounded once. An output may be one of the
// inputs. Types: floating point and integers; throws Error(kBug) for others.
void sum_arrays(at::ScalarType type, const std::vector<const std::byte*>& inputs,
                const std::vector<std::byte*>& outputs, size_t count);

}  // namespace dtrain
