#include "callbacks/step_trace.h"

#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/version.h"

namespace dtrain {
namespace {

using nlohmann::ordered_json;

constexpr int kSteps = 0;
constexpr int kTimesTrack = 1;
constexpr int kFirstThread = 2;
constexpr int kFirstStream = 1000;

double microseconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string text_of(const ordered_json& event) {
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// An "M" (metadata) event: the name of a process or a track.
std::string naming(const char* what, int rank, int track, const std::string& name) {
  return text_of({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", track}, {"args", {{"name", name}}}});
}

// The trace that records. It is global because LibTorch takes only plain functions.
std::atomic<StepTrace*> active = nullptr;

double milliseconds(int64_t nanoseconds, int64_t steps) {
  return static_cast<double>(nanoseconds) / 1e6 / static_cast<double>(steps);
}

double per_cent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// How long at least one of the kernels ran. `activities` are in the order of their beginnings.
int64_t time_of_kernels(const std::vector<DeviceActivity>& activities) {
  int64_t time = 0, end = 0;
  for (const DeviceActivity& activity : activities) {
    if (!activity.is_kernel || activity.end <= end) continue;
    time += activity.end - std::max(activity.begin, end);
    end = activity.end;
  }
  return time;
}

}  // namespace

class StepTrace::Listener {
 public:
  struct Begun : at::ObserverContext {
    Time begin = std::chrono::steady_clock::now();
  };

  static uint64_t listen() {
    auto callback = at::RecordFunctionCallback(on_begin, on_end);
    callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
    return at::addGlobalCallback(callback);
  }

 private:
  static std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& /*function*/) {
    return std::make_unique<Begun>();
  }
  static void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
    StepTrace* const trace = active.load();
    if (trace == nullptr || context == nullptr) return;
    trace->add_operator(function.name(), function.scope() == at::RecordScope::BACKWARD_FUNCTION,
                        function.threadId(), static_cast<Begun*>(context)->begin,
                        std::chrono::steady_clock::now());
  }
};

StepTrace::StepTrace(int rank, StepClock& clock) : rank_(rank), clock_(clock) {
  events_ = naming("process_name", rank, 0, fmt::format("rank {}", rank));
  events_ += ",\n" + naming("thread_name", rank, kSteps, "steps");
  events_ += ",\n" + naming("thread_name", rank, kTimesTrack, "phases");
}

StepTrace::~StepTrace() { stop(); }

void StepTrace::start(Time origin) {
  StepTrace* nobody = nullptr;
  if (!active.compare_exchange_strong(nobody, this))
    throw Error(ExitCode::kBug, "two traces at a time in one process");
  recording_ = true;
  origin_ = origin;
  system_origin_ = std::chrono::system_clock::now() - (std::chrono::steady_clock::now() - origin);
  listener_ = Listener::listen();
  clock_.observe([this](StepTime kind, Time begin, Time end) {
    const std::lock_guard lock(mutex_);
    add(step_time_name(kind), "phase", kTimesTrack, begin, end);
  });
}

void StepTrace::stop() {
  if (!recording_) return;
  clock_.observe({});
  at::removeCallback(listener_);
  active = nullptr;
  recording_ = false;
}

void StepTrace::add_step(int64_t step, Time begin, Time end) {
  const std::lock_guard lock(mutex_);
  add(fmt::format("step {}", step), "step", kSteps, begin, end);
}

void StepTrace::add_device(const std::string& name, const std::vector<DeviceActivity>& activities) {
  const std::lock_guard lock(mutex_);
  const auto time = [this](int64_t nanoseconds) {
    return origin_ + (std::chrono::nanoseconds(nanoseconds) - system_origin_.time_since_epoch());
  };
  std::set<int64_t> streams;
  for (const DeviceActivity& activity : activities) {
    const int track = kFirstStream + static_cast<int>(activity.stream);
    if (streams.insert(activity.stream).second)
      events_ +=
          ",\n" + naming("thread_name", rank_, track, fmt::format("{} stream {}", name, activity.stream));
    add(activity.name, activity.is_kernel ? "kernel" : "memory", track, time(activity.begin),
        time(activity.end));
  }
}

void StepTrace::add_operator(const char* name, bool backward, uint64_t thread, Time begin, Time end) {
  const std::lock_guard lock(mutex_);
  const auto [track, is_new] = tracks_.try_emplace(thread, kFirstThread + static_cast<int>(tracks_.size()));
  if (is_new) {
    events_ += ",\n" + naming("thread_name", rank_, track->second,
                              fmt::format("operators {}", track->second - kFirstThread));
  }
  const auto layer = operations_.find(name);
  const double of_example = layer == operations_.end() ? 0
                            : backward                 ? layer->second.backward
                                                       : layer->second.forward;
  add(name, backward ? "backward" : "operator", track->second, begin, end,
      of_example * static_cast<double>(examples_));
}

void StepTrace::add(const std::string& name, const char* category, int track, Time begin, Time end,
                    double operations) {
  if (events_.size() > kMostBytes) {
    ++dropped_;
    return;
  }
  ordered_json event = {{"ph", "X"},
                        {"name", name},
                        {"cat", category},
                        {"pid", rank_},
                        {"tid", track},
                        {"ts", microseconds_of(begin - origin_)},
                        {"dur", microseconds_of(end - begin)}};
  if (operations > 0) {
    event["args"] = {{"GFLOP", operations / 1e9},
                     {"GFLOP/s", operations / 1e3 / std::max(microseconds_of(end - begin), 1e-3)}};
  }
  events_ += ",\n" + text_of(event);
}

void StepTrace::count_operations(std::map<std::string, LayerOperations> of_layers) {
  const std::lock_guard lock(mutex_);
  operations_ = std::move(of_layers);
}

void StepTrace::set_examples(int64_t examples) {
  const std::lock_guard lock(mutex_);
  examples_ = examples;
}

const std::string& StepTrace::events() {
  stop();
  const std::lock_guard lock(mutex_);
  if (dropped_ > 0) {
    events_ += ",\n" + text_of({{"ph", "M"},
                                {"name", "process_labels"},
                                {"pid", rank_},
                                {"args", {{"labels", fmt::format("{} events were left out", dropped_)}}}});
  }
  dropped_ = 0;
  return events_;
}

std::string trace_file(const std::string& events) {
  return fmt::format(
      "{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"dtrain\": \"{}\"}}, \"traceEvents\": [\n{}\n]}}\n",
      kVersion, events);
}

KernelTimes kernel_times_of(const std::vector<DeviceActivity>& activities) {
  KernelTimes times;
  if (activities.empty()) return times;
  std::vector<DeviceActivity> sorted = activities;
  std::ranges::sort(sorted, {}, &DeviceActivity::begin);
  std::map<std::string, KernelTimes::Kind> kinds;
  int64_t end = 0;
  for (const DeviceActivity& activity : sorted) {
    KernelTimes::Kind& kind = kinds[activity.name];
    kind.name = activity.name;
    kind.is_kernel = activity.is_kernel;
    ++kind.count;
    kind.time += activity.end - activity.begin;
    end = std::max(end, activity.end);
  }
  times.window = end - sorted.front().begin;
  times.computing = time_of_kernels(sorted);
  for (auto& [name, kind] : kinds) times.kinds.push_back(std::move(kind));
  std::ranges::stable_sort(times.kinds, std::greater(), &KernelTimes::Kind::time);
  return times;
}

std::string summary_of(const KernelTimes& times, int64_t steps) {
  KernelTimes::Kind kernels, copies;
  for (const KernelTimes::Kind& kind : times.kinds) {
    KernelTimes::Kind& sum = kind.is_kernel ? kernels : copies;
    sum.count += kind.count;
    sum.time += kind.time;
  }
  const auto each = [steps](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(steps);
  };
  return fmt::format(
      "{:.3f} ms a step; kernels: {:.4g} in {:.3f} ms; copies: {:.4g} in {:.3f} ms; no kernel in {:.1f} % of "
      "the time",
      milliseconds(times.window, steps), each(kernels.count), milliseconds(kernels.time, steps),
      each(copies.count), milliseconds(copies.time, steps),
      per_cent(times.window - times.computing, times.window));
}

std::string table_of(const KernelTimes& times, int64_t steps) {
  std::string table =
      fmt::format("{:>10} {:>8} {:>7}  {}\n", "ms a step", "a step", "share", "kernel or copy");
  for (const KernelTimes::Kind& kind : times.kinds) {
    table += fmt::format("{:>10.4f} {:>8.4g} {:>5.1f} %  {}\n", milliseconds(kind.time, steps),
                         static_cast<double>(kind.count) / static_cast<double>(steps),
                         per_cent(kind.time, times.window), kind.name);
  }
  return table;
}

}  // namespace dtrain
