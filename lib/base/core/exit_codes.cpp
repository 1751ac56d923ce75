#include "core/exit_codes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

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
      {ExitCode::kDiffers, "dtrain verify: steps differ"},
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

std::string exit_code_help(const std::vector<ExitCodeMeaning>& own) {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& each : own.empty() ? exit_codes() : own)
    parts.push_back(fmt::format("{} {}", static_cast<int>(each.code), each.meaning));
  if (!own.empty()) parts.emplace_back("the others as for dtrain run");
  // Lines break only between parts.
  constexpr char kUnbroken = '\x1f';
  for (std::string& part : parts) std::replace(part.begin(), part.end(), ' ', kUnbroken);
  std::string text = wrapped("Exit codes: " + join(parts, "; ") + ".", 100);
  std::replace(text.begin(), text.end(), kUnbroken, ' ');
  return text;
}

}  // namespace dtrain
