// Rewinds metrics.jsonl to the point of the run from which it is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "metrics/event.h"

namespace dtrain {

// Removes the events of the distributed run after optimizer step `step` and after `epochs` complete epochs,
// because that part is trained again. Also removes its evaluation of the test part (data.split), which comes
// at its end, its run_end, a comparison and an incomplete last line; keeps all events of the baseline. Calls
// `on_kept` for each event that is kept. The file is replaced as a whole or not at all. Where lines of it are
// no events, which dtrain does not write, it first puts a copy of the old file beside it, and returns the
// copy's path. Throws Error(kUsage, kDisk).
std::optional<std::filesystem::path> rewind_metrics(const std::filesystem::path& file, int64_t epochs,
                                                    int64_t step,
                                                    const std::function<void(const Event&)>& on_kept);

}  // namespace dtrain
