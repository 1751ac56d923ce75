#include "convolutions/patches.h"

#include <algorithm>

#include "core/cache_lines.h"
#include "kernels/dense.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

constexpr int64_t kNumbersTogether = 1 << 19;  // of patches: 2 MiB
// With few channels a patch's runs of numbers are short. So many are copied as vectors, with the numbers
// after the run, where they stay inside the image's row and the line's patches: what follows is written
// later.
constexpr int64_t kShortRun = 16;

// The lines of the result, [examples * rows], whose patches are gathered and multiplied at once.
int64_t lines_together(const ConvSize& conv) {
  const int64_t lines = std::max<int64_t>(1, conv.examples * conv.rows);
  return std::clamp<int64_t>(kNumbersTogether / (conv.columns * conv.window()), 1, lines);
}

DenseSize product_of(const ConvSize& conv, int64_t lines) {
  return {lines * conv.columns, conv.window(), conv.filters};
}

// The patches of one line, [columns, kernel, kernel, channels].
void gather_line(const ConvSize& conv, const float* input, int64_t line, float* patches) {
  const int64_t row = conv.width * conv.channels, of_kernel = conv.kernel * conv.channels;
  const int64_t top = line % conv.rows * conv.stride - conv.padded_above;
  const float* const image = input + line / conv.rows * conv.height * row;
  for (int64_t column = 0; column < conv.columns; ++column) {
    const int64_t left = column * conv.stride - conv.padded_left;
    const int64_t begin = std::clamp<int64_t>(-left, 0, conv.kernel) * conv.channels;
    const int64_t end =
        std::max(begin, std::clamp<int64_t>(conv.width - left, 0, conv.kernel) * conv.channels);
    const bool is_short = of_kernel <= kShortRun && left >= 0 && left * conv.channels + kShortRun <= row &&
                          (conv.columns - 1 - column) * conv.window() >= kShortRun;
    for (int64_t y = top; y < top + conv.kernel; ++y, patches += of_kernel) {
      if (y < 0 || y >= conv.height) {
        std::fill_n(patches, of_kernel, 0.0F);
      } else if (is_short) {
        std::copy_n(image + y * row + left * conv.channels, kShortRun, patches);
      } else {
        std::fill_n(patches, begin, 0.0F);
        std::copy_n(image + y * row + left * conv.channels + begin, end - begin, patches + begin);
        std::fill(patches + end, patches + of_kernel, 0.0F);
      }
    }
  }
}

}  // namespace

int64_t patches_scratch(const ConvSize& conv) {
  const int64_t lines = lines_together(conv);
  return whole_lines_of_floats(lines * conv.columns * conv.window()) + dense_scratch(product_of(conv, lines));
}

void patches_backward_weights(const ConvSize& conv, const float* input, const float* output_gradient,
                              float* weight_gradient, float* scratch) {
  const int64_t together = lines_together(conv), lines = conv.examples * conv.rows;
  float* const own = scratch + whole_lines_of_floats(together * conv.columns * conv.window());
  for (int64_t from = 0; from < lines; from += together) {
    const int64_t count = std::min(together, lines - from), of_line = conv.columns * conv.window();
    run_ranges(count, std::max<int64_t>(1, kNumbersATask / of_line), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line)
        gather_line(conv, input, from + line, scratch + line * of_line);
    });
    dense_backward_weights(product_of(conv, count), scratch,
                           output_gradient + from * conv.columns * conv.filters, weight_gradient,
                           /*bias_gradient=*/nullptr, /*adds=*/from > 0, own);
  }
}

}  // namespace dtrain
