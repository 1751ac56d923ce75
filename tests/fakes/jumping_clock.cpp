// The wall clock of a machine on which somebody sets the time all the while: each time that it is asked, it
// is right, a year late, three days early, or some seconds late. Loaded by LD_PRELOAD. The other clocks stay
// as they are.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>

namespace {

time_t jump() {
  constexpr std::array<time_t, 4> kJumps = {0, 365 * 86400, -3 * 86400, 7};
  static std::atomic<size_t> asked = 0;
  return kJumps[asked++ % kJumps.size()];
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += jump();
  return static_cast<int>(result);
}

extern "C" time_t time(time_t* now) noexcept {
  timespec full{};
  ::clock_gettime(CLOCK_REALTIME, &full);
  if (now != nullptr) *now = full.tv_sec;
  return full.tv_sec;
}

extern "C" int gettimeofday(timeval* __restrict now, void* __restrict /*zone*/) noexcept {
  timespec full{};
  const int result = ::clock_gettime(CLOCK_REALTIME, &full);
  now->tv_sec = full.tv_sec;
  now->tv_usec = static_cast<suseconds_t>(full.tv_nsec / 1000);
  return result;
}
