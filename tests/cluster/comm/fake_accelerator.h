// Stands in for a GPU where there is none: its memory is the host's, and what it has recorded it runs again.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <vector>

#include "device/accelerator.h"

namespace dtrain::test {

class FakeAccelerator : public Accelerator {
 public:
  at::Device device() const override { return at::kCPU; }
  std::function<void()> record(const std::function<void()>& body) override {
    ++recordings_;
    return [this, body] {
      ++replays_;
      body();
    };
  }
  c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& /*store*/,
                                                 int /*rank*/, int /*size*/,
                                                 std::chrono::milliseconds /*timeout*/) override {
    throw std::logic_error("the fake GPU has no NCCL");
  }
  // Of all that it does it notes the same: two kernels at a time for half of the time, a copy, another
  // kernel.
  void start_profile() override { profile_begin_ = now(); }
  std::vector<DeviceActivity> stop_profile() override {
    const int64_t begin = profile_begin_, tenth = (now() - begin) / 10;
    return {{true, "void fake::product<float>()", 7, begin, begin + 4 * tenth},
            {true, "void fake::sum()", 8, begin + 3 * tenth, begin + 5 * tenth},
            {false, "Memcpy DtoD (Device -> Device)", 7, begin + 5 * tenth, begin + 6 * tenth},
            {true, "void fake::product<float>()", 7, begin + 8 * tenth, begin + 10 * tenth}};
  }
  DeviceMemory memory() const override { return {0, 0, int64_t{1} << 30, int64_t{1} << 30}; }
  std::optional<double> utilisation() const override { return 0.5; }

  int recordings() const { return recordings_; }
  int replays() const { return replays_; }

 private:
  static int64_t now() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  int64_t profile_begin_ = 0;
  int recordings_ = 0;
  int replays_ = 0;
};

}  // namespace dtrain::test
