#include "report/rate_report.h"

#include <fmt/format.h>

#include "display/chart.h"
#include "display/rate_plot.h"
#include "report/page.h"

namespace dtrain {

std::string rate_page(const RateTest& test) {
  std::string html = page_begin("learning rates of " + test.name, "dtrain find-lr");
  for (const std::string& sentence : rate_sentences(test))
    html += fmt::format("<p>{}</p>\n", markup_text(sentence, 1000));
  if (!test.points.empty())
    html += page_legend({{"smoothed loss", 0}, {"loss of the step", 1}}) + "<figure>\n" +
            line_chart(rate_chart(test)) + "</figure>\n";
  TableRows rows = {{"learning rate", "loss", "smoothed"}};
  for (const RatePoint& point : test.points)
    rows.push_back({fmt::format("{:.3g}", point.rate), fmt::format("{:.5g}", point.loss),
                    fmt::format("{:.5g}", point.smoothed)});
  return html + page_heading("Steps") + page_table(rows) + page_end();
}

}  // namespace dtrain
