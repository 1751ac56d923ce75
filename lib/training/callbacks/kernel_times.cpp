#include "callbacks/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace dtrain {
namespace {

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

KernelTimes kernel_times_of(const std::vector<DeviceActivity>& activities) {
  KernelTimes times;
  if (activities.empty()) return times;
  std::vector<DeviceActivity> sorted = activities;
  std::sort(sorted.begin(), sorted.end(),
            [](const DeviceActivity& a, const DeviceActivity& b) { return a.begin < b.begin; });
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
  std::stable_sort(times.kinds.begin(), times.kinds.end(),
                   [](const KernelTimes::Kind& a, const KernelTimes::Kind& b) { return a.time > b.time; });
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
