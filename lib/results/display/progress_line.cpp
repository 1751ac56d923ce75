#include "display/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr size_t kShortestBar = 12;
constexpr size_t kLongestBar = 32;
constexpr size_t kBar = 2;  // the index of the bar among the parts

std::string bar(int64_t done, int64_t total, size_t length) {
  const size_t inside = length - 2;
  const double part =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  const auto filled = static_cast<size_t>(part * static_cast<double>(inside));
  std::string drawn(filled, '=');
  if (filled < inside) drawn += '>';
  return "[" + drawn + std::string(inside - drawn.size(), '.') + "]";
}

struct Part {
  std::string text;
  int importance;
  bool shown = false;
};

}  // namespace

std::string progress_line(const Progress& progress, int width) {
  const size_t room = width > 1 ? static_cast<size_t>(width - 1) : 0;
  const std::string total = std::to_string(progress.total_steps);
  std::vector<Part> parts = {
      // in the order in which they are shown
      {progress.run, 1},
      {progress.epochs > 0 ? fmt::format("epoch {}/{}", progress.epoch, progress.epochs) : std::string(), 8},
      {std::string(kShortestBar, ' '), 6},
      {fmt::format("{:>{}}/{}", progress.step, total.size(), total), 7}};
  if (progress.epoch_is_over) {
    parts.push_back({"evaluating", 5});
  } else {
    if (progress.loss) parts.push_back({"loss " + show_metric(progress.loss), 5});
    if (progress.value) parts.push_back({progress.metric + " " + show_metric(progress.value), 2});
  }
  if (progress.examples_per_second)
    parts.push_back({show_rate(progress.examples_per_second) + " examples/s", 3});
  if (progress.seconds_left) parts.push_back({human_duration(*progress.seconds_left) + " left", 4});

  std::vector<Part*> by_importance;
  for (Part& part : parts) by_importance.push_back(&part);
  std::sort(by_importance.begin(), by_importance.end(),
            [](const Part* a, const Part* b) { return a->importance > b->importance; });
  size_t used = 0;
  for (Part* part : by_importance) {
    const size_t needed = part->text.size() + (used > 0 ? 1 : 0);
    part->shown = used + needed <= room;
    if (part->shown) used += needed;
  }
  parts[kBar].text =
      bar(progress.step, progress.total_steps, std::min(kLongestBar, kShortestBar + room - used));

  std::string line;
  for (const Part& part : parts) {
    if (part.shown && !part.text.empty()) line += (line.empty() ? "" : " ") + part.text;
  }
  return line;
}

}  // namespace dtrain
