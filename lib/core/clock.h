// Time: a steady clock for durations, the wall clock for stamps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dtrain {

// Seconds on a clock that never goes back; only differences mean anything. The same for all processes of one
// host.
double steady_seconds();

// The seconds of a spec as c10d and gloo take them.
inline std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// The wall clock now in UTC, ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z.
std::string utc_time();

// The local time now as it goes into a folder's name: 20260131-120000.
std::string time_for_file_name();

}  // namespace dtrain
