// What the tests of plans share: specs as text, planned for data of a known size.
#pragma once

#include <optional>
#include <string>

#include "plan/job_plan.h"
#include "train/small_jobs.h"

namespace dtrain {

// What is published of MNIST, whatever is on this machine.
inline DatasetInfo mnist() {
  return {.name = "mnist",
          .requested = "mnist",
          .source = "",
          .example_shape = {1, 28, 28},
          .classes = 10,
          .train_examples = 60000,
          .test_examples = 10000};
}

inline LoadedSpec spec_of(const std::string& text) {
  LoadedSpec loaded = parse_spec(text, "spec");
  INFO(problems_of(loaded));
  REQUIRE(loaded.ok());
  return loaded;
}

inline JobPlan plan_of(const std::string& text, const Launched& launched, const DatasetInfo& data = mnist()) {
  const PlannedJob planned = plan_job(spec_of(text), data, launched);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  return planned.job;
}

inline JobPlan plan_of(const std::string& text, std::optional<int64_t> world_size = std::nullopt,
                       const DatasetInfo& data = mnist()) {
  return plan_of(text, Launched{.replicas = world_size}, data);
}

// The problems that planning finds in a spec that reads well.
inline std::string problems_in(const std::string& text, std::optional<int64_t> world_size = std::nullopt,
                               const DatasetInfo& data = mnist()) {
  LoadedSpec loaded = spec_of(text);
  return problems_of(plan_job(loaded, data, {.replicas = world_size}));
}

}  // namespace dtrain
