#include "step/step_pacer.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <thread>

#include "core/error.h"

namespace dtrain {
namespace {

constexpr auto kSpin = std::chrono::milliseconds(2);  // how long to ask without a pause
constexpr auto kPause = std::chrono::microseconds(200);

}  // namespace

void StepPacer::after_step() {
  if (device_.is_cpu()) return;
  marks_.push_back(mark());
  if (marks_.size() <= kAhead) return;
  wait_for(marks_.front());
  marks_.pop_front();
}

void StepPacer::wait_for_all() {
  if (device_.is_cpu()) return;
  wait_for(mark());
  marks_.clear();
}

c10::Event StepPacer::mark() const {
  c10::Event event(device_.type());
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

void StepPacer::wait_for(const c10::Event& event) const {
  const auto start = std::chrono::steady_clock::now();
  while (!event.query()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > timeout_)
      throw Error(ExitCode::kPeerLost,
                  "{} has not finished a step within {} s: it waits for another replica, or it hangs",
                  device_.str(), timeout_.count() / 1000);
    if (waited > kSpin) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace dtrain
