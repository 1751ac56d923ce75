// Time: a steady clock for durations, the wall clock for timestamps.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dtrain {

// Seconds on a clock that never goes back, shared by all processes of a host. Only differences mean anything.
double steady_seconds();

// Converts seconds, as a spec gives them, to the milliseconds that c10d and gloo take.
inline std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// Tells the processor that its thread looks at memory again and again until that changes.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The current UTC time, as ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z.
std::string utc_time();
// Such a time as seconds since 1970; nullopt if the text is none.
std::optional<double> seconds_of(const std::string& utc);

// The current local time in the form used in folder names: 20260131-120000.
std::string time_for_file_name();

}  // namespace dtrain
