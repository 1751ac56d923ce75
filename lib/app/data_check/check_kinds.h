// How check_data() checks each kind of data.
#pragma once

#include <cstdint>
#include <vector>

#include "data_check/data_check.h"
#include "images/look.h"
#include "pictures/picture_list.h"

namespace dtrain {

void check_pictures(DataCheck& check, const PictureList& list, int64_t threads,
                    const OnPrepared& on_progress);
void check_table(DataCheck& check, const DataSpec& spec);
// Of datasets whose examples are read as a whole: arrays, IDX, CIFAR, generated ones.
void check_examples(DataCheck& check, const Dataset& dataset, const OnPrepared& on_progress);

// Groups of equal contents. `readable` says which examples count.
std::vector<SameExamples> find_copies(const std::vector<uint64_t>& contents,
                                      const std::vector<bool>& readable);

// Groups of pictures that look alike without being copies of one another, though some in a group may be.
// Takes time in proportion to the pictures; of very many nearly alike ones, compares each with some thousand.
std::vector<SameExamples> find_alike(const std::vector<Look>& looks, const std::vector<uint64_t>& contents,
                                     const std::vector<bool>& readable);

}  // namespace dtrain
