// Keeps the CPU from running too far ahead of a device.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <deque>

namespace dtrain {

// A device executes queued work while the CPU continues. StepPacer limits how far ahead the CPU may run, so
// that step times are those of the device. It also limits every wait for the device, because a device that
// waits for a dead peer waits forever. On the CPU it does nothing.
class StepPacer {
 public:
  // How many steps the CPU may be ahead: enough that the device never idles.
  static constexpr size_t kAhead = 2;

  StepPacer(at::Device device, std::chrono::milliseconds timeout) : device_(device), timeout_(timeout) {}

  // Call after a step was queued on the device. Waits until the device has completed all but the last kAhead
  // steps. Throws Error(kPeerLost) if that takes longer than the timeout.
  void after_step();
  // Waits until the device has completed all steps. Throws like after_step().
  void wait_for_all();

 private:
  c10::Event mark() const;
  void wait_for(const c10::Event& event) const;

  at::Device device_;
  std::chrono::milliseconds timeout_;
  std::deque<c10::Event> marks_;  // the ends of steps
};

}  // namespace dtrain
