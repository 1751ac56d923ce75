// A run with a checkpoint, without having trained.
#pragma once

#include <filesystem>
#include <functional>

#include "checkpoint/checkpoint.h"

namespace dtrain {

extern const char* const kSavedSpec;  // 4x4 images of 3 classes, 33 to evaluate

// Makes folder/run with one checkpoint of an untrained model, after step 5; returns its path. `change` may
// change what is saved.
std::filesystem::path save_run(const std::filesystem::path& folder,
                               const std::function<void(Checkpoint&)>& change = {});

}  // namespace dtrain
