#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/version.h"

namespace dtrain {
namespace {

// Has no scripts and is not allowed to load anything; pictures are within the page.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta name="generator" content="dtrain report"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/>
)";

// Identifies a page of dtrain, of any version.
constexpr const char* kGenerator = R"(<meta name="generator" content="dtrain report"/>)";
constexpr size_t kMostHeadBytes = 2000;

constexpr const char* kPageStyle = R"(<style>
  :root { --ink: #1f2328; --soft: #5c6570; --page: #f5f6f8; --card: #fff; --edge: #dfe3e8 }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e3e6ea; --soft: #9aa4af; --page: #121417; --card: #1b1d21; --edge: #33373e }
  }
  * { box-sizing: border-box }
  body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
  main > *, .charts > * { min-width: 0 }
  main { max-width: 76rem; margin: 0 auto; padding: 1.25rem }
  h1 { font-size: 1.6rem; line-height: 1.25; margin: .25rem 0; overflow-wrap: anywhere }
  h2 { font-size: 1.15rem; margin: 2rem 0 .6rem }
  p { margin: .4rem 0 }
  .soft, .note { color: var(--soft); overflow-wrap: anywhere }
  .tiles, .charts { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9.5rem), 1fr)) }
  @media (min-width: 60rem) { .tiles { grid-template-columns: repeat(4, 1fr) } }
  .charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)) }
  .tile, figure, .card { background: var(--card); border: 1px solid var(--edge); border-radius: .5rem }
  .tile { padding: .6rem .8rem }
  .tile b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums }
  .tile span { color: var(--soft); font-size: .85rem }
  .above { margin-top: .8rem }
  .card { padding: .8rem }
  figure { margin: 0; padding: .3rem; overflow-x: auto }
  figure svg { display: block; width: 100%; height: auto }
  .page { fill: none }
  .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; margin: .5rem 0 .8rem; padding: 0 }
  .legend li { overflow-wrap: anywhere }
  .swatch { display: inline-block; width: .8em; height: .8em; border-radius: .2em; margin-right: .45em }
  .scroll { overflow-x: auto }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
  th, td { text-align: right; padding: .35rem .7rem; border-top: 1px solid var(--edge); vertical-align: top }
  tr:first-child > * { border-top: 0 }
  td { white-space: nowrap }
  .words td { white-space: normal; min-width: 9rem; max-width: 34rem; overflow-wrap: anywhere }
  th { font-weight: 600; min-width: 7.5rem }
  th[scope=row], th:first-child { text-align: left; font-weight: 400; color: var(--soft) }
  .matrix td, .matrix th { text-align: center; padding: .25rem .35rem; min-width: 2.3rem; border: 0; font-size: .85rem }
  .matrix th { min-width: 3.8rem; max-width: 6.5rem; overflow-wrap: anywhere; vertical-align: bottom }
  .pictures { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
    list-style: none; margin: .6rem 0; padding: 0 }
  .pictures li { background: var(--card); border: 1px solid var(--edge); border-radius: .5rem; padding: .6rem;
    font-size: .85rem; overflow-wrap: anywhere }
  .pictures img { display: block; width: 100%; max-width: 9rem; height: auto; image-rendering: pixelated;
    margin: 0 auto .4rem; background: #888 }
  .pictures b, .pictures span { display: block }
  .bar-title { font-size: .9rem; margin-top: .4rem }
  .bar { display: flex; height: 1.4rem; margin: .15rem 0 .7rem; overflow: hidden; border-radius: .25rem; gap: 1px }
  details { margin: .6rem 0 }
  summary { cursor: pointer; overflow-wrap: anywhere }
  @media (max-width: 40rem) {
    main { padding: .8rem }
    .card { padding: .4rem }
    table { font-size: .85rem }
    th, td { padding: .3rem .45rem }
    th { min-width: 0 }
    th:first-child { min-width: 5.5rem }
  }
  pre { overflow-x: auto; margin: .6rem 0 0; font: .85rem/1.45 ui-monospace, monospace }
</style>
)";

// RFC 4648, section 4.
std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

}  // namespace

std::string page_begin(const std::string& title, const std::string& by) {
  return kHead + fmt::format("<title>{3}: {0}</title>\n{1}{2}</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
                             markup_text(title), kChartStyle, kPageStyle, markup_text(by));
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
