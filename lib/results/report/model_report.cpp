#include "report/model_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/page.h"

namespace dtrain {
namespace {

constexpr size_t kMostInMatrix = 40;  // classes; of more only the pairs that are confused most are shown
constexpr size_t kMostPairs = 20;

// Right predictions are blue, wrong ones red, the more of the class's examples the stronger.
std::string cell(int64_t count, int64_t of, bool right) {
  if (count == 0) return "<td></td>";
  const double part = static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, of));
  const double strength = right ? 0.15 + 0.5 * part : std::min(0.85, 0.12 + 4 * part);
  return fmt::format("<td style=\"background:rgb({} / {:.2f})\">{}</td>", right ? "59 130 214" : "209 73 91",
                     strength, with_separators(count));
}

std::string matrix(const ModelReport& model) {
  std::string html =
      "<div class=\"card scroll\"><table class=\"matrix\">\n<tr><th scope=\"col\">class \\ prediction</th>";
  for (const std::string& title : model.classes) html += "<th scope=\"col\">" + markup_text(title) + "</th>";
  html += "</tr>\n";
  for (size_t label = 0; label < model.confusion.size(); ++label) {
    const std::vector<int64_t>& row = model.confusion[label];
    int64_t examples = 0;
    for (const int64_t count : row) examples += count;
    html += "<tr><th scope=\"row\">" + markup_text(model.classes[label]) + "</th>";
    for (size_t predicted = 0; predicted < row.size(); ++predicted)
      html += cell(row[predicted], examples, predicted == label);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string confused_pairs(const ModelReport& model) {
  std::vector<std::tuple<int64_t, size_t, size_t>> pairs;
  for (size_t label = 0; label < model.confusion.size(); ++label) {
    for (size_t predicted = 0; predicted < model.confusion[label].size(); ++predicted) {
      const int64_t count = model.confusion[label][predicted];
      if (predicted != label && count > 0) pairs.emplace_back(-count, label, predicted);
    }
  }
  std::ranges::sort(pairs);
  if (pairs.size() > kMostPairs) pairs.resize(kMostPairs);
  TableRows rows = {{"class", "taken for", "examples"}};
  for (const auto& [count, label, predicted] : pairs)
    rows.push_back({model.classes[label], model.classes[predicted], with_separators(-count)});
  return page_table(rows);
}

std::string worst_mistakes(const std::vector<Mistake>& mistakes) {
  const bool pictures = !mistakes.front().png.empty();
  if (pictures) {
    std::string html = "<ul class=\"pictures\">\n";
    for (const Mistake& mistake : mistakes)
      html += page_picture(mistake.png, mistake.title, mistake.truth,
                           {fmt::format("taken for {} ({:.1f} %; {}: {:.1f} %)", mistake.prediction,
                                        100 * mistake.probability, mistake.truth, 100 * mistake.of_truth),
                            mistake.title});
    return html + "</ul>\n";
  }
  TableRows rows = {{"example", "class", "taken for", "probability", "of its class"}};
  for (const Mistake& mistake : mistakes)
    rows.push_back({mistake.title, mistake.truth, mistake.prediction,
                    fmt::format("{:.1f} %", 100 * mistake.probability),
                    fmt::format("{:.1f} %", 100 * mistake.of_truth)});
  return page_table(rows);
}

}  // namespace

std::string layers_section(const ModelReport& model) {
  if (model.layers.empty()) return "";
  TableRows rows = {{"layer", "kind", "output shape", "parameters"}};
  int64_t parameters = 0;
  for (const LayerRow& layer : model.layers) {
    rows.push_back({layer.name, layer.kind, layer.output, with_separators(layer.parameters)});
    parameters += layer.parameters;
  }
  rows.push_back({"in all", "", "", with_separators(parameters)});
  return page_table(rows);
}

std::string mistakes_section(const ModelReport& model) {
  if (model.confusion.empty()) return "";
  std::string html = page_heading("What it confuses") +
                     fmt::format("<p class=\"note\">{}</p>\n", markup_text(model.examined));
  html += model.classes.size() <= kMostInMatrix ? matrix(model) : confused_pairs(model);
  if (model.mistakes.empty()) return html;
  return html + page_heading("Its worst mistakes") + worst_mistakes(model.mistakes);
}

}  // namespace dtrain
