#include "core/clock.h"

#include <fmt/format.h>

#include <ctime>

namespace dtrain {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string utc_time() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text, milliseconds);
}

std::optional<double> seconds_of(const std::string& utc) {
  std::tm parts{};
  int milliseconds = 0;
  const char* const rest = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || std::sscanf(rest, ".%3dZ", &milliseconds) != 1) return std::nullopt;
  return static_cast<double>(timegm(&parts)) + milliseconds / 1000.0;
}

std::string time_for_file_name() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

}  // namespace dtrain
