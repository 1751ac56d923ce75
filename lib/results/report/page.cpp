#include "report/page.h"

#include <fmt/format.h>

#include "core/version.h"
#include "crypto/crypto.h"
#include "report/texts.h"

namespace dtrain {
namespace {

// Identifies a page of dtrain, of any version.
constexpr const char* kGenerator = R"(<meta name="generator" content="dtrain report"/>)";
constexpr size_t kMostHeadBytes = 2000;

}  // namespace

std::string page_begin(const std::string& title, const std::string& by) {
  return filled(texts::page_html, {{"BY", markup_text(by)},
                                   {"TITLE", markup_text(title)},
                                   {"STYLE", chart_style() + "<style>\n" + texts::page_css + "</style>\n"}});
}

bool is_report_page(const std::string& page) {
  return page.substr(0, kMostHeadBytes).find(kGenerator) != std::string::npos;
}

std::string page_end() {
  return fmt::format("<p class=\"soft\">made by dtrain {}</p>\n</main>\n</body>\n</html>\n", kVersion);
}

std::string page_table(const TableRows& rows, bool of_text) {
  std::string html = fmt::format("<div class=\"card scroll\"><table{}>\n", of_text ? " class=\"words\"" : "");
  for (size_t row = 0; row < rows.size(); ++row) {
    html += "<tr>";
    for (size_t column = 0; column < rows[row].size(); ++column) {
      const char* open = row == 0 ? "th scope=\"col\"" : column == 0 ? "th scope=\"row\"" : "td";
      html += fmt::format("<{}>{}</{}>", open, markup_text(rows[row][column]),
                          row == 0 || column == 0 ? "th" : "td");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string page_heading(const std::string& text) { return "<h2>" + markup_text(text) + "</h2>\n"; }

std::string page_tile(const std::string& title, const std::string& value) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", markup_text(value),
                     markup_text(title));
}

std::string page_picture(const std::string& png, const std::string& title, const std::string& bold,
                         const std::vector<std::string>& lines) {
  std::string html =
      fmt::format("<li><img alt=\"{0}\" title=\"{0}\" src=\"data:image/png;base64,{1}\"/><b>{2}</b>",
                  markup_text(title), base64(png), markup_text(bold));
  for (const std::string& line : lines) html += "<span>" + markup_text(line) + "</span>";
  return html + "</li>\n";
}

std::string page_figure(const LineChart& chart) {
  return page_figure(chart.lines.empty() ? "" : line_chart(chart));
}

std::string page_figure(const std::string& svg) {
  return svg.empty() ? "" : "<figure>\n" + svg + "</figure>\n";
}

std::string page_legend(const std::vector<std::pair<std::string, size_t>>& series) {
  std::string html = "<ul class=\"legend\">\n";
  for (const auto& [name, colour] : series) {
    html += fmt::format("<li><span class=\"swatch\" style=\"background:{}\"></span>{}</li>\n",
                        series_colour(colour), markup_text(name));
  }
  return html + "</ul>\n";
}

}  // namespace dtrain
