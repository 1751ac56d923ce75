// A trace of what one process does in some steps, for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/step_clock.h"
#include "device/accelerator.h"
#include "models/layer_kinds.h"

namespace dtrain {

// Between start() and stop(), records what the clock counts, LibTorch's operators on all threads, including
// the backward pass, and the steps added with add_step(). Only one trace at a time can record in a process.
//
// Writes "complete" events of the Trace Event Format, one JSON object each. The process is `rank`; track 0
// has the steps, track 1 what the clock counts, each track from 2 on the operators of one thread, and each
// track from 1000 on what one stream of a device does.
class StepTrace {
 public:
  StepTrace(int rank, StepClock& clock);
  ~StepTrace();

  // Times are microseconds since `origin`, which is the same moment on all replicas.
  using Time = std::chrono::steady_clock::time_point;
  void start(Time origin);
  void stop();
  void add_step(int64_t step, Time begin, Time end);
  // Adds what the device called `name` did since start(). May follow stop().
  void add_device(const std::string& name, const std::vector<DeviceActivity>& activities);

  // The floating-point operations of the layers' passes for one example, by the layer's name. Their events
  // then have "GFLOP" and "GFLOP/s" as arguments, if the micro-batches of a step have the same number of
  // examples, which is set before the step; 0: they do not.
  void count_operations(std::map<std::string, LayerOperations> of_layers);
  void set_examples(int64_t examples);

  // The events, separated by commas, at most kMostBytes. If there were more, the last event says how many.
  const std::string& events();
  static constexpr size_t kMostBytes = size_t{4} << 20;

 private:
  class Listener;
  void add(const std::string& name, const char* category, int track, Time begin, Time end,
           double operations = 0);
  void add_operator(const char* name, bool backward, uint64_t thread, Time begin, Time end);

  int rank_;
  StepClock& clock_;
  bool recording_ = false;
  uint64_t listener_ = 0;  // LibTorch's handle
  Time origin_;
  std::chrono::system_clock::time_point system_origin_;  // the same on the clock that devices go by
  std::mutex mutex_;                // guards the members below: backward may run on other threads
  std::map<uint64_t, int> tracks_;  // by thread
  std::string events_;
  int64_t dropped_ = 0;
  std::map<std::string, LayerOperations> operations_;
  int64_t examples_ = 0;
};

// Makes a complete trace file from the events of several processes.
std::string trace_file(const std::string& events);

// The activities of a device, summed up: the time of each kernel, and the idle time. In nanoseconds.
struct KernelTimes {
  // All kernels of one function, or all copies of one kind.
  struct Kind {
    std::string name;
    bool is_kernel = true;
    int64_t count = 0;
    int64_t time = 0;  // the sum of them
  };

  int64_t window = 0;       // from the beginning of the first activity to the end of the last one
  int64_t computing = 0;    // how much of it at least one kernel ran
  std::vector<Kind> kinds;  // those that took longest first
};

KernelTimes kernel_times_of(const std::vector<DeviceActivity>& activities);

// Of `steps` steps: "0.213 ms a step; kernels: 12 in 0.180 ms; copies: 2 in 0.003 ms; no kernel in 15.5 % of
// the time".
std::string summary_of(const KernelTimes& times, int64_t steps);

// A table with a line for each kind: time and number for a step, the share of the window, the name.
std::string table_of(const KernelTimes& times, int64_t steps);

}  // namespace dtrain
