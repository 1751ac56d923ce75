#include "core/exit_codes.h"

namespace dtrain {

const std::vector<ExitCodeMeaning>& exit_codes() {
  static const std::vector<ExitCodeMeaning> codes = {
      {ExitCode::kDone, "done"},
      {ExitCode::kBug, "a bug in dtrain"},
      {ExitCode::kUsage, "bad usage or spec"},
      {ExitCode::kData, "missing or damaged data"},
      {ExitCode::kPeerLost, "a replica died or did not answer in time"},
      {ExitCode::kMemory, "out of memory"},
      {ExitCode::kDiverged, "diverged: the loss is not a finite number"},
      {ExitCode::kCheckpoint, "no usable checkpoint"},
      {ExitCode::kRegression, "dtrain compare: a run is worse than --max-regression allows"},
      {ExitCode::kDisk, "a full disk or an I/O error"},
      {ExitCode::kDisagree, "replicas disagree: memory of one of them is corrupt"},
      {ExitCode::kStopped, "stopped by a signal"},
  };
  return codes;
}

ExitCode to_exit_code(int code) {
  for (const ExitCodeMeaning& known : exit_codes()) {
    if (code == static_cast<int>(known.code) && known.code != ExitCode::kDone) return known.code;
  }
  return ExitCode::kBug;
}

}  // namespace dtrain
