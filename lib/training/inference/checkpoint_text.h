// The output of `dtrain inspect` for checkpoints.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"
#include "metrics/event.h"

namespace dtrain {

// All that is in one.
std::string checkpoint_text(const std::filesystem::path& path, const CheckpointReport& report);

// A line of several. `best_by`: the metric by which it is the best of them; empty: it is not.
std::string checkpoint_line(const std::filesystem::path& path, const CheckpointReport& report,
                            const std::string& best_by);

Event checkpoint_document(const std::filesystem::path& path, const CheckpointReport& report,
                          const std::string& best_by);

}  // namespace dtrain
