// The first steps of a job, trained by `dtrain run` in a process of its own, for what is measured before the
// real run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "experiments/child_run.h"
#include "spec/spec.h"

namespace dtrain {

// The job with `steps` steps, each reported; nothing is compared, saved, or evaluated before the end. Model,
// data, batch, optimizer and strategy stay.
JobSpec first_steps(JobSpec job, int64_t steps);

// Called with each step's training loss; NaN if it is not finite. Returns whether the measurement is over.
using OnStep = std::function<bool(double loss)>;

// Trains `job` in `folder`, which is empty, until `on_step` says that it is over or the run ends. With
// `memory`, none of its processes may have more bytes of its own than that (RLIMIT_DATA). Returns how the run
// ended: kDone also if it was over before, kStopped after a stop signal.
ChildRunEnd train_first_steps(const JobSpec& job, const std::filesystem::path& folder, const OnStep& on_step,
                              std::optional<int64_t> memory = {});

}  // namespace dtrain
