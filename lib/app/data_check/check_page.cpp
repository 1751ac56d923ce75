// The contact sheet of dtrain data check.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codecs/image_file.h"
#include "core/error.h"
#include "data_check/findings.h"
#include "display/chart.h"
#include "images/fit.h"
#include "report/page.h"

namespace dtrain {
namespace {

constexpr int64_t kShownSide = 112;    // pixels of a picture's longer side
constexpr size_t kMostPictures = 240;  // on a page
constexpr size_t kMostInGroup = 12;
constexpr size_t kMostLines = 200;

class ContactSheet {
 public:
  explicit ContactSheet(const DataCheck& check) : check_(check) {}

  std::string group(const std::vector<size_t>& members) {
    if (left_ == 0) return "";
    std::string html = "<ul class=\"pictures\">\n";
    for (size_t i = 0; i < std::min(kMostInGroup, members.size()) && left_ > 0; ++i, --left_)
      html += picture(members[i]);
    html += "</ul>\n";
    if (members.size() > kMostInGroup)
      html += fmt::format("<p class=\"note\">and {} more</p>\n", members.size() - kMostInGroup);
    return html;
  }
  bool is_full() const { return left_ == 0; }

 private:
  std::string picture(size_t example) const {
    const CheckedExample& one = check_.examples[example];
    const std::string file = check_.title_of(example);
    std::vector<std::string> lines = {name_of(one.part), file};
    std::string png;
    try {
      const at::Tensor image = read_image(check_.root, check_.files[example]);
      lines.push_back(fmt::format("{} x {}", image.size(3), image.size(2)));
      png = png_file(with_longer_side(image[0], kShownSide));
    } catch (const Error& error) {  // it has gone, or was changed
      return fmt::format("<li><b>{}</b><span>{}</span></li>\n", markup_text(file), markup_text(error.what()));
    }
    return page_picture(png, file, check_.classes[static_cast<size_t>(one.label)], lines);
  }

  const DataCheck& check_;
  size_t left_ = kMostPictures;
};

// The groups of a kind, the ones that matter most first.
std::string groups_section(const DataCheck& check, ContactSheet& sheet, const std::string& title,
                           const std::string& meaning,
                           const std::function<bool(const SameExamples&)>& belongs) {
  std::string html;
  for (const SameExamples& group : check.same) {
    if (belongs(group)) html += sheet.group(group.members);
  }
  if (html.empty()) return "";
  return page_heading(title) + fmt::format("<p class=\"note\">{}</p>\n", markup_text(meaning)) + html;
}

std::string lines_section(const DataFinding& finding) {
  TableRows rows = {{finding.title}};
  for (size_t line = 0; line < std::min(kMostLines, finding.lines.size()); ++line)
    rows.push_back({finding.lines[line]});
  if (finding.lines.size() > kMostLines)
    rows.push_back({fmt::format("and {} more", finding.lines.size() - kMostLines)});
  return page_heading(fmt::format("{} ({})", finding.title, with_separators(std::ssize(finding.lines)))) +
         fmt::format("<p class=\"note\">{}</p>\n", markup_text(finding.meaning)) + page_table(rows, true);
}

}  // namespace

std::string check_page(const DataCheck& check) {
  std::string html = page_begin(check.source, "dtrain data check") + "<div class=\"tiles\">\n";
  html +=
      page_tile(check.files.empty() ? "examples" : "pictures", with_separators(std::ssize(check.examples)));
  html += page_tile("cannot be read", with_separators(std::ssize(check.broken)));
  const std::vector<DataFinding> findings = findings_of(check);
  for (const DataFinding& finding : findings) {
    if (finding.title == "leaked" || finding.title == "several classes")
      html += page_tile(finding.title, with_separators(std::ssize(finding.lines)));
  }
  html += "</div>\n";
  if (const std::string sizes = sizes_text(check); !sizes.empty())
    html += fmt::format("<p class=\"note\">{}</p>\n", markup_text(sizes));
  html += page_heading("Examples") + page_table(class_rows(check));
  if (check.files.empty()) {
    for (const DataFinding& finding : findings) html += lines_section(finding);
    return html + page_end();
  }
  ContactSheet sheet(check);
  const auto leaked = [&](const SameExamples& group) { return check.crosses_parts(group); };
  const auto ambiguous = [&](const SameExamples& group) { return check.has_several_labels(group); };
  html += groups_section(check, sheet, "Leaked", "the same to train on and to measure with", leaked);
  html += groups_section(check, sheet, "Several classes", "the same under more than one class",
                         [&](const SameExamples& group) { return ambiguous(group) && !leaked(group); });
  html += groups_section(check, sheet, "The same", "copies, and pictures that look alike",
                         [&](const SameExamples& group) { return !ambiguous(group) && !leaked(group); });
  for (const DataFinding& finding : findings) {
    if (finding.title == "broken") html += lines_section(finding);
  }
  for (const auto& [colours, pictures] : check.odd_colours)
    html += page_heading(colours) + sheet.group(pictures);
  if (!check.turned.empty()) html += page_heading("Turned by EXIF") + sheet.group(check.turned);
  if (sheet.is_full())
    html += fmt::format("<p class=\"note\">Only the first {} pictures are shown; --json lists all.</p>\n",
                        kMostPictures);
  return html + page_end();
}

}  // namespace dtrain
