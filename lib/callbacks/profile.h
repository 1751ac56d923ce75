// callbacks.profile: a trace of some steps in profile.json of the run's folder, which chrome://tracing and
// ui.perfetto.dev show: the steps, their phases and LibTorch's operators, of all replicas side by side.
#pragma once

#include <filesystem>
#include <memory>

#include "metrics/event.h"
#include "plan/job_plan.h"
#include "store/store.h"
#include "strategy/strategy.h"

namespace dtrain {

constexpr const char* kProfileFile = "profile.json";

struct ProfileContext {
  const JobPlan& job;
  const RunPlan& run;
  int rank = 0;
  StorePtr store;                // through which the replicas' traces come to rank 0
  std::filesystem::path folder;  // of the run
  EventSink& events;             // hears where the file is
};

// The strategy `inner`, traced in the steps that the spec asks for. Every replica has one. Replicas that are
// in the same step meet after the last of these; where they work on their own, what has come until replica 0
// finishes counts. Throws Error(kUsage, kDisk) when the file cannot be written.
std::unique_ptr<Strategy> make_profiled(std::unique_ptr<Strategy> inner, std::shared_ptr<PhaseClock> clock,
                                        const ProfileContext& context);

}  // namespace dtrain
