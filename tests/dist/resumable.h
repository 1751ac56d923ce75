// A job whose end has the same bits however often it was interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "job.h"
#include "safetensors/safetensors.h"

namespace dtrain {

// Several epochs of some 60 steps, with everything that has to be remembered: momenta, generators, moving
// statistics, a schedule that depends on evaluations.
extern const char* const kResumableSpec;

std::filesystem::path checkpoints_of(const Job& job);

// The last checkpoint's files, all but the manifest, which has the paths and metrics of the moment.
std::vector<std::string> result_of(const Job& job);

// Those of the last checkpoint, by name.
NamedTensors variables_of(const Job& job);

// Fails the test, with what the program printed, if it did not do what it should.
void require_done(const Finished& run);

// What an undisturbed run comes to; made once.
const Job& undisturbed();

// Compares the job's weights and metrics with those of the undisturbed one. `killed`: what the supervisor had
// not written yet when it was killed is not in the metrics.
void check_like_undisturbed(const Job& job, bool killed = false);

// Waits for a checkpoint of this step or a later one. Fails the test when that takes too long.
void wait_for_checkpoint(const Job& job, int64_t step);

}  // namespace dtrain
