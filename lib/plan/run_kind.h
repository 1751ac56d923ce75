// The kinds of runs that a job has, and what follows from each.
#pragma once

#include <string>

namespace dtrain {

enum class RunKind { kBaseline, kOverhead, kDistributed };

struct RunTraits {
  std::string name;  // in events, in names of files, and for people
  // A training with a result. The overhead run only measures what the strategy costs one replica.
  bool trains = true;
  // The job's own run: the others are there to compare it with.
  bool saves = false;        // checkpoints, as the spec says
  bool resumes = false;      // from one, by --resume or a restart; the others are not run again then
  bool is_observed = false;  // by callbacks, the profile and the inspection of a step
  bool spans_hosts = false;  // the others run on the first host while the rest wait
};

const RunTraits& traits_of(RunKind kind);
const std::string& name_of(RunKind kind);

}  // namespace dtrain
