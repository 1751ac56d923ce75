// Makes a learning-rate range test of a job.
#pragma once

#include <filesystem>

#include "runs/rate_test.h"
#include "spec/spec.h"

namespace dtrain {

// The first steps of the job (experiments/first_steps.h), as many as the test has, each with its own rate.
JobSpec rate_test_job(const JobSpec& job, const RateTest& test);

// Trains the job by `dtrain run` in `folder`, which is empty, until the test is over, and takes the losses
// into `test`. A stop signal ends it, and then `test.end` is kStopped. Throws the Error with which the run
// failed otherwise.
void run_rate_test(const JobSpec& job, const std::filesystem::path& folder, RateTest& test);

}  // namespace dtrain
