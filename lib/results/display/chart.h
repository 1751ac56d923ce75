// Shared by all charts: the style, the scale of an axis, and escaped text.
#pragma once

#include <cstddef>
#include <string>

namespace dtrain {

// A <style> element for the page, the grid and the lines, in the reader's light or dark theme.
extern const char* const kChartStyle;

// The distance between grid lines: 1, 2 or 5 times a power of ten, so that there are about five lines up to
// `highest`. `highest` must be above 0.
double grid_step(double highest);

// The colour of a series. There are six colours, which then repeat. They are visible on white and on
// near-black, and colour-blind readers can tell them apart (together with markers).
const char* series_colour(size_t number);

// The beginning of an <svg> element: its size and title, and the page below all. `style` is put inside.
std::string svg_begin(double width, double height, const std::string& title, const std::string& style);

// Text that is safe inside an element or an attribute: markup and control characters are escaped. Cut after
// about `limit` bytes.
std::string markup_text(const std::string& text, size_t limit = 200);

}  // namespace dtrain
