#include "report/tune_report.h"

#include <fmt/format.h>

#include "display/chart.h"
#include "display/tune_chart.h"
#include "display/tune_table.h"
#include "metrics/show.h"
#include "report/page.h"

namespace dtrain {

std::string tune_page(const Tune& tune) {
  std::string html = page_begin("tune of " + tune.name) +
                     fmt::format("<p class=\"soft\">{}</p>\n", markup_text(tune.directory, 1000));
  const auto best = best_trial(tune);
  html += "<div class=\"tiles\">\n" + page_tile("trials", show_count(std::ssize(tune.trials)));
  if (best) {
    html += page_tile("best " + tune.metric, show_metric(tune.trials[*best].scores.back()));
    for (size_t i = 0; i < tune.fields.size(); ++i)
      html += page_tile(tune.fields[i], tune.trials[*best].values[i]);
  }
  html += "</div>\n";
  for (const std::string& sentence : tune_sentences(tune))
    html += fmt::format("<p class=\"note\">{}</p>\n", markup_text(sentence, 1000));
  if (best)
    html += fmt::format("<p class=\"note\">to train the best from the start: <code>{}</code></p>\n",
                        markup_text(command_of(tune, *best), 4000));
  const LineChart lines = tune_lines(tune);
  if (!lines.lines.empty())
    html += page_heading("Course") + page_legend(tune_legend(tune)) + "<figure>\n" + line_chart(lines) +
            "</figure>\n";
  return html + page_heading("Trials, the best first") + page_table(tune_rows(tune)) + page_end();
}

}  // namespace dtrain
