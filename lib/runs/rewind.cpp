#include "runs/rewind.h"

#include <sstream>
#include <string>

#include "core/files.h"
#include "metrics/events.h"

namespace dtrain {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

bool stays(const Event& event, int64_t epochs, int64_t step) {
  const EventPlace place = place_of(event);
  if (place.run != "distributed") return true;
  if (decode<RunEndEvent>(event) || decode<ComparisonEvent>(event)) return false;
  if (decode<RestartEvent>(event)) return true;  // its cost remains
  const auto evaluation = decode<EvalEvent>(event);
  if (evaluation && evaluation->part == kTestPart) return false;
  if (decode<EpochEvent>(event) || evaluation) return place.epoch.value_or(0) <= epochs;
  return place.step.value_or(0) <= step;
}

}  // namespace

void rewind_metrics(const std::filesystem::path& file, int64_t epochs, int64_t step,
                    const std::function<void(const Event&)>& on_kept) {
  std::istringstream lines(read_file(file, kMaxBytes, ExitCode::kUsage));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || !stays(event, epochs, step)) continue;
    kept += line + "\n";
    on_kept(event);
  }
  write_file_atomically(file, kept);
}

}  // namespace dtrain
