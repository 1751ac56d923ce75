// What one process does in some steps, as a trace that chrome://tracing and ui.perfetto.dev show.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/phase_clock.h"

namespace dtrain {

// Between start() and stop() it records the phases of the clock, LibTorch's operators of every thread with
// the backward pass's, and the steps that it is told of. One at a time in a process.
//
// As "complete" events of the Trace Event Format, one JSON object each: process `rank`; track 0 the steps, 1
// the phases, from 2 on the operators of one thread each.
class StepTrace {
 public:
  StepTrace(int rank, PhaseClock& clock);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  // Times are microseconds since `origin`, by the system's clock; all replicas pass the same one. (Counted
  // from 1970 a double would resolve a quarter of a microsecond only.)
  using Origin = std::chrono::system_clock::time_point;
  void start(Origin origin);
  void stop();
  bool is_recording() const { return recording_; }
  using Time = std::chrono::steady_clock::time_point;
  void add_step(int64_t step, Time begin, Time end);

  // The events, separated by commas. At most kMostBytes of them; the last one says how many more there were.
  const std::string& events();
  static constexpr size_t kMostBytes = size_t{4} << 20;

 private:
  class Listener;
  void add(const std::string& name, const char* category, int track, Time begin, Time end);
  void add_operator(const char* name, bool backward, uint64_t thread, Time begin, Time end);

  int rank_;
  PhaseClock& clock_;
  bool recording_ = false;
  uint64_t listener_ = 0;           // LibTorch's handle
  Time origin_;                     // on the steady clock
  std::mutex mutex_;                // guards all below: backward may run on other threads
  std::map<uint64_t, int> tracks_;  // by thread
  std::string events_;
  int64_t dropped_ = 0;
};

// A whole file from the events of several processes.
std::string trace_file(const std::string& events);

}  // namespace dtrain
