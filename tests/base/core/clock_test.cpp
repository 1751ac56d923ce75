#include "core/clock.h"

#include <stdlib.h>
#include <time.h>

#include <cmath>
#include <regex>

#include "catch.h"

namespace dtrain {
namespace {

// Another time zone for as long as it lives.
class TimeZone {
 public:
  explicit TimeZone(const char* zone) {
    const char* const before = ::getenv("TZ");
    had_one_ = before != nullptr;
    if (had_one_) before_ = before;
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~TimeZone() {
    had_one_ ? ::setenv("TZ", before_.c_str(), 1) : ::unsetenv("TZ");
    ::tzset();
  }

 private:
  bool had_one_ = false;
  std::string before_;
};

// Seconds since 1970 of the text `format` describes, read in the time zone of now.
double seconds_of(const std::string& text, const char* format, bool utc) {
  std::tm parts{};
  REQUIRE(::strptime(text.c_str(), format, &parts) != nullptr);
  parts.tm_isdst = -1;
  return static_cast<double>(utc ? ::timegm(&parts) : ::mktime(&parts));
}

TEST_CASE("the steady clock never goes back and counts seconds") {
  const double first = steady_seconds();
  double last = first;
  for (int i = 0; i < 1000; ++i) {
    const double now = steady_seconds();
    REQUIRE(now >= last);
    last = now;
  }
  CHECK(last > first);
  CHECK(last - first < 10);
  timespec boot{};
  ::clock_gettime(CLOCK_MONOTONIC, &boot);
  CHECK(steady_seconds() ==
        Approx(static_cast<double>(boot.tv_sec)).margin(10));  // of the host, not the process
}

TEST_CASE("the wall clock is ISO 8601 in UTC with milliseconds, wherever one is") {
  const TimeZone zone("XXX-05:30");
  const std::string text = utc_time();
  CHECK(std::regex_match(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
  CHECK(seconds_of(text, "%Y-%m-%dT%H:%M:%S", /*utc=*/true) ==
        Approx(static_cast<double>(::time(nullptr))).margin(10));
}

TEST_CASE("the time in a file's name is local") {
  const TimeZone zone("XXX-05:30");
  const std::string text = time_for_file_name();
  CHECK(std::regex_match(text, std::regex(R"(\d{8}-\d{6})")));
  const double now = static_cast<double>(::time(nullptr));
  CHECK(seconds_of(text, "%Y%m%d-%H%M%S", /*utc=*/false) == Approx(now).margin(10));
  CHECK(seconds_of(text, "%Y%m%d-%H%M%S", /*utc=*/true) == Approx(now + 5.5 * 3600).margin(10));
}

}  // namespace
}  // namespace dtrain
