// Finds examples that are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "data_check/data_check.h"
#include "images/look.h"

namespace dtrain {

// Groups of equal contents. `readable` says which examples count.
std::vector<SameExamples> find_copies(const std::vector<uint64_t>& contents,
                                      const std::vector<bool>& readable);

// Groups of pictures that look alike without being copies of one another, though some in a group may be.
// Takes time in proportion to the pictures, unless very many are nearly alike: of those each is compared with
// some thousand.
std::vector<SameExamples> find_alike(const std::vector<Look>& looks, const std::vector<uint64_t>& contents,
                                     const std::vector<bool>& readable);

}  // namespace dtrain
