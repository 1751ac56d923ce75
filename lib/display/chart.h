// What the charts share: the look, the scale of an axis, text that is safe inside of it.
#pragma once

#include <cstddef>
#include <string>

namespace dtrain {

// A <style> element: a page, a grid and lines in the reader's light or dark theme.
extern const char* const kChartStyle;

// The distance between lines of a grid: 1, 2 or 5 times a power of ten, some five of them up to `highest`,
// which is above 0.
double grid_step(double highest);

// The colour of a line: six that are seen well on white and on near-black, and told apart by colour-blind
// readers (with other marks' help), then the same again.
const char* series_colour(size_t number);

// Any text inside an element or an attribute: markup and control characters are escaped; it is cut after some
// `limit` bytes.
std::string markup_text(const std::string& text, size_t limit = 200);

}  // namespace dtrain
