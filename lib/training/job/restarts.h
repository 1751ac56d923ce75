// When a run that has lost a process restarts by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

// How often in a row `run` may be restarted without a new checkpoint in between: restarts.max of the spec,
// whose `auto` means 3 if checkpoints are saved. Only the distributed run is restarted.
int64_t most_restarts(const JobPlan& job, const RunPlan& run);

// Whether a run that failed with `code` may succeed if it resumes from its last checkpoint: after a death
// (kPeerLost), a bug that may not occur again (kBug), a lack of memory, or replicas that disagree.
// Divergence, bad data or usage, and a full disk would occur again.
bool may_end_otherwise(ExitCode code);

struct FailedAttempt {
  ExitCode code = ExitCode::kPeerLost;
  std::string error;        // what failed first, in one line
  std::string cause;        // the same without the name of the process
  int64_t step = 0;         // where the process that failed first was; 0: before the first, or not known
  int64_t checkpoint = -1;  // the step of the newest checkpoint; -1: there is none
};

class RestartPolicy {
 public:
  RestartPolicy(int64_t most, double backoff_seconds) : most_(most), backoff_seconds_(backoff_seconds) {}

  // How many seconds to wait before the run is restarted, or nullopt when it ends.
  //
  // A failure for which may_end_otherwise() holds is tried again, unless the same error came at the same step
  // as the last time, or, where the step is not known, without a new checkpoint since: that is a crash loop.
  // The first restart after a new checkpoint comes at once, the next ones after backoff_seconds, twice
  // backoff_seconds, and so on up to five minutes.
  std::optional<double> on_failure(const FailedAttempt& attempt);

  // Why on_failure() returned nullopt, as text to append to the error; empty if the job has no restarts.
  const std::string& why_not() const { return why_not_; }

 private:
  int64_t most_;
  double backoff_seconds_;
  int64_t in_a_row_ = 0;  // restarts since the last new checkpoint
  std::optional<FailedAttempt> last_;
  std::string why_not_;
};

// The cost of a run's restarts: repeated training, and the time until the run continues.
class RestartTally {
 public:
  explicit RestartTally(std::function<double()> clock = steady_seconds) : clock_(std::move(clock)) {}

  // Takes every event of the job, and uses the distributed run's `run_start` and `checkpoint`.
  void on_event(const Event& event);
  // The run resumes from the checkpoint of step `step`; 0: from its beginning.
  void on_restart(int64_t step);

  int64_t restarts() const { return restarts_; }
  double lost_seconds() const;

 private:
  std::function<double()> clock_;
  std::map<int64_t, double> reached_;  // when the last steps with a checkpoint were reached
  int64_t restarts_ = 0;
  double lost_seconds_ = 0;
  int64_t from_ = 0;
  bool waiting_ = false;  // for the run to resume from `from_`
};

}  // namespace dtrain
