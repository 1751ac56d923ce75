// A run with a checkpoint, without having trained.
#pragma once

#include <filesystem>

namespace dtrain {

extern const char* const kSavedSpec;  // 4x4 images of 3 classes, 33 to evaluate

// Makes folder/run with one checkpoint of an untrained model, after step 5; returns its path.
std::filesystem::path save_run(const std::filesystem::path& folder);

}  // namespace dtrain
