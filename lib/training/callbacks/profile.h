// callbacks.profile: writes a trace of some steps to profile.json in the run's folder: the steps, their
// phases, LibTorch's operators and what GPUs do, with all replicas side by side. chrome://tracing and
// ui.perfetto.dev show it. On a GPU also a table of the first replica's kernels, kernels.txt.
#pragma once

#include <filesystem>
#include <memory>

#include "callbacks/callbacks.h"
#include "device/accelerator.h"
#include "store/store.h"

namespace dtrain {

constexpr const char* kProfileFile = "profile.json";
constexpr const char* kKernelsFile = "kernels.txt";

struct ProfileContext {
  const JobPlan& job;
  const RunPlan& run;
  int rank = 0;
  StorePtr store;                // sends the replicas' traces to rank 0
  std::filesystem::path folder;  // the run's
  EventSink& events;             // gets messages with the paths of the files
  std::shared_ptr<Accelerator> accelerator = nullptr;
};

// Traces the steps that the spec asks for. Every replica has one. Synchronous
// replicas send their traces after the last of these steps, and rank 0 waits for them. With asynchronous
// training, rank 0 takes the traces that have arrived when it finishes. Throws Error(kUsage, kDisk).
std::shared_ptr<StepWatch> make_profile(std::shared_ptr<StepClock> clock, const ProfileContext& context);

}  // namespace dtrain
