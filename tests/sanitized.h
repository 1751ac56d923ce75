// Whether the tests run under AddressSanitizer, which takes time and memory of its own.
#pragma once

namespace dtrain {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A number of repetitions, or a size, that is there for speed or for what is rare by chance; under the
// sanitizer, where one of them says whether memory is sound, `few`.
template <class Number>
constexpr Number few_if_sanitized(Number usual, Number few) {
  return kSanitized ? few : usual;
}

}  // namespace dtrain
