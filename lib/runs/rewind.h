// Takes metrics.jsonl back to a moment of the run from which it goes on again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "metrics/event.h"

namespace dtrain {

// Removes from the file what the distributed run did after optimizer step `step` and after `epochs` complete
// epochs: it is done again. Its end and a comparison go too, and half a line; everything of the baseline
// stays. `on_kept` hears of each event that stays. The file is replaced as a whole or not at all. Throws
// Error(kUsage).
void rewind_metrics(const std::filesystem::path& file, int64_t epochs, int64_t step,
                    const std::function<void(const Event&)>& on_kept);

}  // namespace dtrain
