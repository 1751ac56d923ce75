#include "step/autocast.h"

#include <ATen/autocast_mode.h>

namespace dtrain {

std::optional<at::ScalarType> compute_type(const std::string& precision) {
  if (precision == "bf16_mixed") return at::kBFloat16;
  if (precision == "fp16_mixed") return at::kHalf;
  return std::nullopt;
}

Autocast::Autocast(at::DeviceType device, std::optional<at::ScalarType> type)
    : device_(device), active_(type.has_value()) {
  if (!active_) return;
  at::autocast::set_autocast_dtype(device_, *type);
  at::autocast::set_autocast_enabled(device_, true);
}

// The cache of converted weights lasts for one pass, because an update follows.
Autocast::~Autocast() {
  if (!active_) return;
  at::autocast::set_autocast_enabled(device_, false);
  at::autocast::clear_cache();
}

}  // namespace dtrain
