// Stands in for a GPU where there is none: its memory is the host's, and what it has recorded it runs again.
#pragma once

#include <functional>
#include <stdexcept>

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
  DeviceMemory memory() const override { return {0, 0, int64_t{1} << 30, int64_t{1} << 30}; }
  std::optional<double> utilisation() const override { return 0.5; }

  int recordings() const { return recordings_; }
  int replays() const { return replays_; }

 private:
  int recordings_ = 0;
  int replays_ = 0;
};

}  // namespace dtrain::test
