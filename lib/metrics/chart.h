// What the SVG charts share: the look, the scale of an axis, text that is safe inside of it.
#pragma once

#include <string>

namespace dtrain {

// A <style> element: a page, a grid and lines in the reader's light or dark theme.
extern const char* const kChartStyle;

// The distance between lines of a grid: 1, 2 or 5 times a power of ten, some five of them up to `highest`,
// which is above 0.
double grid_step(double highest);

// Any text as the content of an element: markup and control characters are escaped.
std::string svg_text(const std::string& text);

}  // namespace dtrain
