// Whether the tests run under AddressSanitizer, which takes time and memory of its own.
#pragma once

namespace dtrain {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace dtrain
