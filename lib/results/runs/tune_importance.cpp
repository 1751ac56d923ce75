// How much each field of a tune explains of what its trials came to.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "runs/tune_results.h"

namespace dtrain {
namespace {

constexpr size_t kMostGroups = 6;  // of values that have an order
constexpr size_t kFewestTrials = 12;

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

bool is_number(const std::string& text) { return number_of(text).has_value(); }

// The group of each value: equal values have one, and where there are many different numbers, neighbours too.
std::vector<size_t> groups_of(const std::vector<std::string>& values) {
  const std::vector<std::string> different = values_in_order(values);
  const size_t most = std::min(kMostGroups, values.size() / 4);
  const bool joins = different.size() > most && std::ranges::all_of(different, is_number);
  std::vector<size_t> groups;
  if (joins) {
    std::map<std::string, size_t> before;  // how many trials have a lower value
    size_t count = 0;
    for (const std::string& value : different) {
      before[value] = count;
      count += static_cast<size_t>(std::ranges::count(values, value));
    }
    for (const std::string& value : values) groups.push_back(before[value] * most / count);
  } else {
    for (const std::string& value : values)
      groups.push_back(static_cast<size_t>(std::ranges::find(different, value) - different.begin()));
  }
  return groups;
}

// By Kruskal and Wallis's H, of `ranks` in these groups: (H - k + 1) / (n - k), but not below 0.
std::optional<double> explained(const std::vector<double>& ranks, const std::vector<size_t>& groups) {
  struct Sum {
    double ranks = 0, count = 0;
  };
  std::map<size_t, Sum> sums;
  for (size_t i = 0; i < ranks.size(); ++i) {
    sums[groups[i]].ranks += ranks[i];
    ++sums[groups[i]].count;
  }
  const auto n = static_cast<double>(ranks.size()), k = static_cast<double>(sums.size());
  const double mean = (n - 1) / 2;
  double all = 0, between = 0;
  for (const double rank : ranks) all += (rank - mean) * (rank - mean);
  for (const auto& [group, sum] : sums)
    between += sum.ranks * sum.ranks / sum.count - mean * mean * sum.count;
  if (ranks.size() < kFewestTrials || n < 3 * k || all == 0) return std::nullopt;
  return std::max(0.0, ((n - 1) * between / all - k + 1) / (n - k));
}

}  // namespace

std::vector<std::string> values_in_order(const std::vector<std::string>& values) {
  std::vector<std::string> different;
  for (const std::string& value : values) {
    if (std::ranges::find(different, value) == different.end()) different.push_back(value);
  }
  if (std::ranges::all_of(different, is_number)) std::ranges::stable_sort(different, {}, number_of);
  return different;
}

std::vector<std::optional<double>> importance_of_fields(const Tune& given) {
  const Tune tune = combined(given);
  std::vector<size_t> ended = ranking(tune);
  std::erase_if(ended,
                [&](size_t i) { return tune.trials[i].error.empty() && !tune.trials[i].has_result(); });
  const auto is_level = [&](size_t a, size_t b) {
    const TuneTrial &one = tune.trials[a], &other = tune.trials[b];
    if (!one.error.empty() || !other.error.empty()) return one.error.empty() == other.error.empty();
    return one.scores.size() == other.scores.size() && one.scores.back() == other.scores.back();
  };
  std::vector<double> ranks(ended.size());
  for (size_t from = 0, to = 0; from < ended.size(); from = to) {
    ++to;
    while (to < ended.size() && is_level(ended[from], ended[to])) ++to;
    for (size_t i = from; i < to; ++i) ranks[i] = static_cast<double>(from + to - 1) / 2;
  }
  std::vector<std::optional<double>> importance;
  for (size_t field = 0; field < tune.fields.size(); ++field) {
    std::vector<std::string> values;
    for (const size_t i : ended) values.push_back(tune.trials[i].values[field]);
    importance.push_back(explained(ranks, groups_of(values)));
  }
  return importance;
}

}  // namespace dtrain
