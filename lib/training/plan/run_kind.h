// The kinds of runs in a job, and their traits.
#pragma once

#include <string>

namespace dtrain {

enum class RunKind { kBaseline, kOverhead, kDistributed };

struct RunTraits {
  std::string name;  // in events, file names and messages
  // Whether the run is a training with a result. The overhead run only measures what the strategy costs one
  // replica.
  bool trains = true;
  // These are true for the distributed run only; the other runs serve for comparison.
  bool saves = false;        // saves checkpoints as the spec says
  bool resumes = false;      // by --resume or a restart, from a checkpoint; the other runs are not repeated
  bool is_observed = false;  // by callbacks, the profile and the inspection of a step
  bool spans_hosts = false;  // the others run on the first host while the rest wait
};

const RunTraits& traits_of(RunKind kind);
const std::string& name_of(RunKind kind);

}  // namespace dtrain
