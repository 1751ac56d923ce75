// Pieces of a self-contained HTML page, which is XML too: it has no scripts, loads nothing, and follows the
// reader's light or dark theme. All text is escaped.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "display/chart.h"

namespace dtrain {

// Up to and including the heading. `by` is the command that makes the page.
std::string page_begin(const std::string& title, const std::string& by = "dtrain report");
std::string page_end();
// Whether page_begin() has made this page's beginning, in this version of dtrain or another.
bool is_report_page(const std::string& page);
std::string page_heading(const std::string& text);
// The first row has the headings of the columns, and the first column those of the rows. In a box that
// scrolls when the table is wider. Text in cells wraps if `of_text` is set.
std::string page_table(const TableRows& rows, bool of_text = false);
// A number with its name; tiles belong into an element of the class "tiles".
std::string page_tile(const std::string& title, const std::string& value);

// A picture, given as a whole PNG file, with a line of bold text below it and others of plain text. Pictures
// belong into a list of the class "pictures".
std::string page_picture(const std::string& png, const std::string& title, const std::string& bold,
                         const std::vector<std::string>& lines);

// A <figure> of the chart; "" if it has no lines, or of an SVG element; "" if there is none.
std::string page_figure(const LineChart& chart);
std::string page_figure(const std::string& svg);

// Names with the numbers of their colours (series_colour()).
std::string page_legend(const std::vector<std::pair<std::string, size_t>>& series);

}  // namespace dtrain
