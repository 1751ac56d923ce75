// metrics.jsonl: the events of a job as a file, one JSON object per line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/descriptor.h"
#include "metrics/event.h"

namespace dtrain {

// Appends every event except `progress` as one line. Each line is written at once, so that a reader that
// follows the file, or has that of a killed job, sees whole lines, as event_text() writes them.
class JsonLinesFile : public EventSink {
 public:
  // Opens or creates the file. If its last line was cut off (a killed job, a full disk), first ends that line
  // with a newline. Throws Error(kUsage, kDisk).
  explicit JsonLinesFile(const std::filesystem::path& path);

  // The first failure to write throws Error(kUsage, kDisk); later events are dropped silently, so that the
  // job can end and report the failure elsewhere.
  void on_event(const Event& event) override;

  // Waits until all lines are on the disk, and stay there after a power failure. Throws Error(kUsage, kDisk).
  void sync();

  // Whether the file is still there.
  bool is_in_place() const;
  // Writes the file again, with all its lines, after somebody removed it. Throws Error(kUsage, kDisk).
  void write_again();

 private:
  void open();
  void write(const std::string& text);

  std::filesystem::path path_;
  Descriptor file_;
  bool failed_ = false;
};

// Calls `take` with each line of a file of any size, without its newline; `event` is no object where the line
// is none, and `is_whole` is false for a last line without a newline. Throws Error(kUsage, kDisk).
void for_each_line(
    const std::filesystem::path& file,
    const std::function<void(const std::string& line, const Event& event, bool is_whole)>& take);

// Where rewind_metrics() writes what stays. One name for all, for a run's metrics have one writer.
std::filesystem::path place_while_rewinding(const std::filesystem::path& file);

// Removes the events of the distributed run after optimizer step `step` and after `epochs` complete epochs,
// because that part is trained again; with `unevaluated`, also the evaluation after the last of these epochs.
// Also removes its evaluation of the test part (data.split), which comes at its end, its run_end, a
// comparison and an incomplete last line; keeps all events of the baseline. Calls `on_kept` for each event
// that is kept. The file is replaced as a whole or not at all, also when the power fails, and may be larger
// than the memory. Where lines of it are no events, which dtrain does not write, the old file stays beside it
// under another name, which it returns. Throws Error(kUsage, kDisk).
std::optional<std::filesystem::path> rewind_metrics(const std::filesystem::path& file, int64_t epochs,
                                                    int64_t step,
                                                    const std::function<void(const Event&)>& on_kept,
                                                    bool unevaluated = false);

}  // namespace dtrain
