#include "models/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

Window slide(int64_t input, int64_t size, int64_t stride, const std::string& kind) {
  if (kind != "same") {
    const int64_t side = kind == "symmetric" ? (size - 1) / 2 : 0;
    const int64_t cells = input + 2 * side;
    return {side, side, cells < size ? 0 : (cells - size) / stride + 1};
  }
  const int64_t output = (input - 1) / stride + 1;
  const int64_t padding = std::max<int64_t>(0, (output - 1) * stride + size - input);
  return {padding / 2, padding - padding / 2, output};
}

}  // namespace

Window2d window_over(int64_t size, int64_t stride, const std::string& padding, const Shape& input) {
  return {size, stride, slide(input[1], size, stride, padding), slide(input[2], size, stride, padding)};
}

std::string image_problem(const Shape& input) {
  if (input.size() == 3) return "";
  return fmt::format("expects an input of [channels, height, width] but gets {}", to_string(input));
}

std::string window_problem(const char* field, int64_t size, int64_t stride, const std::string& padding,
                           const Shape& input) {
  if (const std::string problem = image_problem(input); !problem.empty())
    return problem + (input.size() == 1 ? "; put it before the flatten layer" : "");
  if (auto problem = range_problem(field, size); !problem.empty()) return problem;
  if (auto problem = range_problem("stride", stride); !problem.empty()) return problem;
  if (padding != "valid" && padding != "same" && padding != "symmetric")
    return fmt::format("unknown padding '{}'; known: valid, same, symmetric", printable(padding));
  const Window2d window = window_over(size, stride, padding, input);
  if (window.rows.output == 0 || window.columns.output == 0) {
    return fmt::format(
        "its window {} is larger than its input {}, so the output would be empty; use a smaller {} or "
        "padding: same",
        to_string({size, size}), to_string(input), field);
  }
  const Shape padded = {input[0], input[1] + window.rows.before + window.rows.after,
                        input[2] + window.columns.before + window.columns.after};
  if (bounded_product(padded) > kMostNumbers) {
    return fmt::format("its input {} becomes {} with padding, more than {} numbers", to_string(input),
                       to_string(padded), with_separators(kMostNumbers));
  }
  return "";
}

std::string range_problem(const char* field, int64_t value) {
  if (value >= 1 && value <= kMostNumbers) return "";
  return fmt::format("{} must be from 1 to {}, not {}", field, with_separators(kMostNumbers), value);
}

std::string initializer_problem(const std::string& name) {
  const auto& known = initializer_kinds().built;
  if (std::ranges::find(known, name) != known.end()) return "";
  return fmt::format("unknown initializer '{}'; known: {}{}", printable(name), join(known),
                     did_you_mean(name, known));
}

int64_t bounded_product(const Shape& factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product > kMostNumbers)
      product = kMostNumbers + 1;
  }
  return product;
}

}  // namespace dtrain
