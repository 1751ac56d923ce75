#include "runs/rewind.h"

#include <fmt/format.h>

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

// "metrics.damaged.jsonl" beside the file, or "metrics.damaged-2.jsonl".
std::filesystem::path place_of_copy(const std::filesystem::path& file) {
  std::filesystem::path copy = file;
  copy.replace_filename(file.stem().string() + ".damaged" + file.extension().string());
  for (int number = 2; std::filesystem::exists(copy); ++number)
    copy.replace_filename(
        fmt::format("{}.damaged-{}{}", file.stem().string(), number, file.extension().string()));
  return copy;
}

}  // namespace

std::optional<std::filesystem::path> rewind_metrics(const std::filesystem::path& file, int64_t epochs,
                                                    int64_t step,
                                                    const std::function<void(const Event&)>& on_kept) {
  const std::string content = read_file(file, kMaxBytes, ExitCode::kUsage);
  std::istringstream lines(content);
  std::string kept;
  bool damaged = false;
  for (std::string line; std::getline(lines, line);) {
    const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    damaged |= !event.is_object() && !lines.eof();  // a killed job may leave the last line incomplete
    if (!event.is_object() || !stays(event, epochs, step)) continue;
    kept += line + "\n";
    on_kept(event);
  }
  std::optional<std::filesystem::path> copy;
  if (damaged) write_file_atomically(copy.emplace(place_of_copy(file)), content, "--run-dir");
  write_file_atomically(file, kept, "--run-dir");
  return copy;
}

}  // namespace dtrain
