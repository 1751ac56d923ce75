// metrics.jsonl: the events of a job as a file, one JSON object a line.
#pragma once

#include <filesystem>

#include "metrics/event.h"

namespace dtrain {

// Appends every event but `progress` as one line, written through at once, so that a reader that follows the
// file and a job that is killed both see whole lines. Text and numbers as event_text() writes them.
class JsonLinesFile : public EventSink {
 public:
  // Opens or creates the file. When its last line was cut off (a killed job, a full disk) a newline ends it
  // first. Throws Error(kUsage, kDisk).
  explicit JsonLinesFile(const std::filesystem::path& path);
  ~JsonLinesFile() override;
  JsonLinesFile(const JsonLinesFile&) = delete;
  JsonLinesFile& operator=(const JsonLinesFile&) = delete;

  // The first failure to write throws Error(kUsage, kDisk); events after it are dropped silently, so that the
  // job can end and say so elsewhere.
  void on_event(const Event& event) override;

 private:
  void write(const std::string& text);

  std::filesystem::path path_;
  int descriptor_;
  bool failed_ = false;
};

}  // namespace dtrain
