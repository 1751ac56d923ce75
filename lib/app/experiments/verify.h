// `dtrain verify`: computes steps of a run again and compares their receipts (runs/receipts.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/range.h"
#include "runs/receipts.h"

namespace dtrain {

// Trains the run's job again in a process of its own, in a scratch folder, up to the last step that has a
// receipt or to the first difference: all steps from the beginning, or `steps` from the newest good
// checkpoint before them; with as many replicas as the run had, or `replicas`. Tells `say` what it does.
// Throws Error(kUsage) if the run has no such receipts or cannot have so many replicas, or under a launcher;
// kStopped after a signal, and the error of the process.
ReceiptsComparison verify_run(const std::filesystem::path& run, std::optional<Range> steps,
                              std::optional<int64_t> replicas,
                              const std::function<void(const std::string&)>& say);

}  // namespace dtrain
