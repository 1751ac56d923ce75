// What is measured before the real run, of a job's first steps, which `dtrain run` trains in another process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "plan/job_plan.h"
#include "runs/rate_test.h"
#include "spec/spec.h"

namespace dtrain {

// The test of this job. Throws Error(kUsage) if the job has several rates.
RateTest rate_test_of(const JobSpec& job, RateTest options);

// A learning-rate range test: trains as many steps of the job as the test has, each with its own rate, in
// `folder`, which is empty, until the test is over, and takes the losses into `test`. A stop signal ends it,
// and then `test.end` is kStopped. Throws the Error with which the run failed otherwise.
void run_rate_test(const JobSpec& job, const std::filesystem::path& folder, RateTest& test);

// Trains the job's first steps in `folder`, which is empty, until there are `steps` or, after those that
// metrics.skip_steps skips, `seconds` are over, and reports every `every` of them. Returns the folder of the
// run, which a run that ran out of time does not end with figures. Throws the Error with which it failed,
// kStopped after a signal.
std::filesystem::path run_steps(const JobSpec& job, int64_t every, int64_t steps,
                                std::optional<double> seconds, const std::filesystem::path& folder);

// The largest micro-batch that a job's memory has room for, by the plan's estimate of memory: at most what
// one update needs of a replica.
int64_t estimated_fit(const JobPlan& job);

// Measured: trains two steps of the job (of largest_phase()) on this host's replicas with as many examples a
// pass as the estimate says, then with more while they fit, or with fewer until they do. On the processor
// "fit" means that the replicas of the host need at most nine tenths of the memory that its processes may
// have; on a GPU, that the step does not run out of memory. Tells `say` what it tries. Throws Error(kMemory)
// if not even one example fits, kStopped after a signal, and the run's own error if it fails for another
// reason.
int64_t measured_fit(const JobPlan& job, const std::function<void(const std::string&)>& say);

}  // namespace dtrain
