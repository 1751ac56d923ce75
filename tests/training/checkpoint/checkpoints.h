// What the tests of this room share: a small checkpoint, and what is said of a bad one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/error.h"

namespace dtrain {

// Of about 2 KiB, with a tensor of every dtype, one without elements and one without dimensions.
Checkpoint small_checkpoint(int64_t step);

// Keeps so many, and the best if it says which that is.
CheckpointSpec keeping(int64_t keep, const BestCheckpointSpec& best = {});

// The names in a folder, hidden ones too, in order.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// The message of the Error that `body` throws, which must have this code; fails the test when there is none.
template <class Body>
std::string failure_of(ExitCode code, const Body& body);

}  // namespace dtrain

#include "catch.h"

namespace dtrain {

template <class Body>
std::string failure_of(ExitCode code, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL_CHECK("no error was thrown");
  return "";
}

}  // namespace dtrain
