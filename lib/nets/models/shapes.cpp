#include "models/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {

std::string range_problem(const char* field, int64_t value) {
  if (value >= 1 && value <= kMostNumbers) return "";
  return fmt::format("{} must be from 1 to {}, not {}", field, with_separators(kMostNumbers), value);
}

std::string initializer_problem(const std::string& name) {
  const auto& known = initializer_kinds().built;
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  return fmt::format("unknown initializer '{}'; known: {}{}", printable(name), join(known),
                     did_you_mean(name, known));
}

int64_t bounded_product(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t factor : shape) {
    if (__builtin_mul_overflow(product, factor, &product) || product > kMostNumbers)
      product = kMostNumbers + 1;
  }
  return product;
}

int64_t bounded_product(std::initializer_list<int64_t> factors) { return bounded_product(Shape(factors)); }

}  // namespace dtrain
