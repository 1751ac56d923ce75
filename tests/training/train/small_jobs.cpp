#include "small_jobs.h"

namespace dtrain {

std::vector<Event> RecordingSink::of(const std::string& kind) const {
  std::vector<Event> found;
  for (const Event& event : events) {
    if (event.at("event") == kind) found.push_back(event);
  }
  return found;
}

namespace {

std::string lines_of(const std::vector<Problem>& problems) {
  std::string lines;
  for (const Problem& problem : problems) lines += problem.to_string() + "\n";
  return lines;
}

}  // namespace

std::string problems_of(const LoadedSpec& loaded) { return lines_of(loaded.problems); }
std::string problems_of(const PlannedJob& planned) { return lines_of(planned.problems); }

LoadedSpec small_spec(const std::vector<std::string>& overrides) {
  return parse_spec(
      "name: small\n"
      "strategy: {kind: one_device, threads_per_replica: 1}\n"
      "data: {dataset: synthetic, shape: [1, 4, 4], classes: 3, train_examples: 18, test_examples: 7}\n"
      "batch: {per_replica: 4}\n"
      "model: {kind: mlp, hidden: [5]}\n"
      "train: {epochs: 3}\n"
      "metrics: {every_steps: 2, skip_steps: 0}\n",
      "small.yaml", overrides);
}

JobPlan small_job(const std::vector<std::string>& overrides) {
  LoadedSpec loaded = small_spec(overrides);
  const PlannedJob planned = plan_job(loaded, find_dataset);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  return planned.job;
}

}  // namespace dtrain
