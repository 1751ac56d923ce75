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

struct Verification {
  std::filesystem::path run;
  std::optional<Range> steps;       // nullopt: all, from the beginning
  std::optional<int64_t> replicas;  // nullopt: as many as the run has
};

// Trains the run's job again in a process of its own, in a scratch folder: from the newest good checkpoint
// before the first of the steps, else from the beginning; up to the last step that has a receipt, or to the
// first difference. Tells `say` what it does. Throws Error(kUsage) if the run has no such receipts or cannot
// have so many replicas, kStopped after a signal, and the error of the process if that fails.
ReceiptsComparison verify_run(const Verification& asked, const std::function<void(const std::string&)>& say);

}  // namespace dtrain
