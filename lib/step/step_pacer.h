// Keeps the processor from running ahead of a device.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <deque>
#include <optional>

namespace dtrain {

// A device works off what it was given while the processor goes on. This bounds by how much, so that the
// times of steps are those of the device, and bounds every wait for it, since a device that waits for a peer
// which has died waits for ever. On the CPU it does nothing.
class StepPacer {
 public:
  // Steps that the processor may be ahead: enough that the device never idles.
  static constexpr size_t kAhead = 2;

  StepPacer(at::Device device, std::chrono::milliseconds timeout) : device_(device), timeout_(timeout) {}

  // After a step was given to the device: waits until it has done all but the last kAhead of them. Throws
  // Error(kPeerLost) when that takes longer than the timeout.
  void after_step();
  // Waits until the device has done all. Throws like after_step().
  void wait_for_all();

 private:
  c10::Event mark() const;
  void wait_for(const c10::Event& event) const;

  at::Device device_;
  std::chrono::milliseconds timeout_;
  std::deque<c10::Event> marks_;  // the ends of steps
};

}  // namespace dtrain
