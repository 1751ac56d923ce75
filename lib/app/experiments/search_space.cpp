#include "experiments/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "experiments/tpe.h"

namespace dtrain {
namespace {

constexpr size_t kMostTryBytes = 10'000;
constexpr int64_t kDrawsPerTrial = 1000;  // until there seems to be no other combination
constexpr int kProposals = 20;            // until the estimator seems to know none but those that were tried

Problem problem_of_try(const std::string& path, const std::string& text) {
  return {"--try", 0, 0, printable(path, 60), text};
}

std::vector<std::string> divided_by_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      depth += std::string("[{(").find(c) != std::string::npos ? 1 : 0;
      depth -= std::string("]})").find(c) != std::string::npos ? 1 : 0;
    }
    if (c == ',' && depth == 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

// nullopt if the text is none.
std::optional<ValueRange> range_in(const std::string& text, std::string& problem) {
  static const Pattern kRange(R"((log|uniform|int)\(([^,()]*),([^,()]*)\))");
  if (text.size() > 200) return std::nullopt;
  const auto found = kRange.match(text);
  if (!found) return std::nullopt;
  ValueRange range{.kind = (*found)[1].text};
  const auto read = [&](const std::string& number, double& value) {
    char* end = nullptr;
    const std::string digits = trimmed(number);
    value = std::strtod(digits.c_str(), &end);
    return !digits.empty() && *end == '\0' && std::isfinite(value);
  };
  if (!read((*found)[2].text, range.from) || !read((*found)[3].text, range.to)) {
    problem = fmt::format("{} is not a range of two numbers, such as log(1e-4,1e-1)", printable(text, 60));
  } else if (!(range.from < range.to)) {
    problem = fmt::format("{} does not ascend", printable(text, 60));
  } else if (!std::isfinite(range.to - range.from)) {
    problem = fmt::format("{} is wider than a number can be", printable(text, 60));
  } else if (range.kind == "log" && range.from <= 0) {
    problem = fmt::format("{} begins at a number that has no logarithm", printable(text, 60));
  } else if (range.kind == "int" && (std::floor(range.from) != range.from ||
                                     std::floor(range.to) != range.to || range.to - range.from > 1e9)) {
    problem = fmt::format("{} is not between two whole numbers", printable(text, 60));
  }
  return range;
}

std::string value_problem(const std::vector<std::string>& values) {
  std::set<std::string> seen;
  for (const std::string& value : values) {
    if (value.empty()) return "there is no value between two commas, or none at all";
    if (!seen.insert(value).second) return fmt::format("{} is named twice", printable(value, 60));
  }
  return "";
}

// A number of the range as a spec has it: with four digits, or as many more as a narrow range needs.
std::string written(const ValueRange& range, double value) {
  const auto& [kind, from, to] = range;
  value = std::clamp(value, from, to) + 0.0;  // never -0
  if (kind == "int") return fmt::format("{:.0f}", value);
  const double narrow = std::log10(std::max(std::abs(from), std::abs(to)) / (to - from));
  const std::string text =
      fmt::format("{:.{}g}", value, 4 + static_cast<int>(std::clamp(std::floor(narrow), 0.0, 13.0)));
  const double rounded = std::strtod(text.c_str(), nullptr);
  return rounded < from ? fmt::format("{}", from) : rounded > to ? fmt::format("{}", to) : text;
}

std::string drawn_from(const TriedField& field, RandomGenerator& random) {
  if (!field.range) return field.values[random.below(field.values.size())];
  const auto& [kind, from, to] = *field.range;
  if (kind == "int")
    return written(*field.range,
                   from + static_cast<double>(random.below(static_cast<uint64_t>(to - from) + 1)));
  const double part = random.uniform();
  return written(*field.range, kind == "log" ? from * std::pow(to / from, part) : from + (to - from) * part);
}

std::vector<TpeDimension> tpe_space(const std::vector<TriedField>& fields) {
  std::vector<TpeDimension> space;
  for (const TriedField& field : fields) {
    space.push_back({.choices = field.values.size()});
    if (field.range)
      space.back() = {0, field.range->from, field.range->to, field.range->kind == "log",
                      field.range->kind == "int"};
  }
  return space;
}

std::vector<double> tpe_values(const std::vector<TriedField>& fields, const TrialValues& trial) {
  std::vector<double> values;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto& [path, choices, range] = fields[i];
    const auto choice = std::min(std::ranges::find(choices, trial[i]) - choices.begin(),
                                 std::ssize(choices) - 1);  // a file that was edited may have any value
    values.push_back(range ? std::clamp(std::strtod(trial[i].c_str(), nullptr), range->from, range->to)
                           : static_cast<double>(choice));
  }
  return values;
}

}  // namespace

std::vector<TriedField> read_tries(const std::vector<std::string>& tries, std::vector<Problem>& problems) {
  std::vector<TriedField> fields;
  for (const std::string& text : tries) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.size() > kMostTryBytes) {
      problems.push_back(problem_of_try(
          "", fmt::format("'{}' is not of the form PATH=VALUE,VALUE,...", printable(text, 60))));
      continue;
    }
    TriedField field{.path = text.substr(0, equals), .values = {}, .range = {}};
    const bool again =
        std::ranges::any_of(fields, [&](const TriedField& other) { return other.path == field.path; });
    const std::string what = trimmed(text.substr(equals + 1));
    std::string problem;
    field.range = range_in(what, problem);
    if (!field.range) {
      field.values = divided_by_commas(what);
      problem = value_problem(field.values);
    }
    if (again) problem = "is tried twice; name all its values in one --try";
    if (problem.empty()) {
      fields.push_back(std::move(field));
    } else {
      problems.push_back(problem_of_try(field.path, problem));
    }
  }
  return fields;
}

std::vector<TrialValues> grid_trials(const std::vector<TriedField>& fields) {
  double count = 1;
  for (const TriedField& field : fields) {
    if (field.range)
      throw Error(
          ExitCode::kUsage,
          "--try {}: a grid cannot try all values of a range; add --random N or --tpe N, or list values",
          printable(field.path, 60));
    count *= static_cast<double>(field.values.size());
  }
  if (count > static_cast<double>(kMostTrials))
    throw Error(ExitCode::kUsage,
                "the grid has {:.0f} trials, and a tune at most {}; try fewer values, or some of the "
                "combinations with --random N",
                count, with_separators(kMostTrials));
  std::vector<TrialValues> trials(1);
  for (const TriedField& field : fields) {
    std::vector<TrialValues> longer;
    for (const TrialValues& trial : trials) {
      for (const std::string& value : field.values) {
        longer.push_back(trial);
        longer.back().push_back(value);
      }
    }
    trials = std::move(longer);
  }
  return trials;
}

std::vector<TrialValues> random_trials(const std::vector<TriedField>& fields, int64_t count, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<TrialValues> trials;
  std::set<TrialValues> seen;
  for (int64_t draw = 0; draw < count * kDrawsPerTrial && std::ssize(trials) < count; ++draw) {
    TrialValues trial;
    for (const TriedField& field : fields) trial.push_back(drawn_from(field, random));
    if (seen.insert(trial).second) trials.push_back(std::move(trial));
  }
  return trials;
}

std::optional<TrialValues> propose_trial(const std::vector<TriedField>& fields,
                                         const std::vector<TriedValues>& tried, uint64_t seed) {
  std::set<TrialValues> seen;
  std::vector<TpeTrial> trials;
  int64_t ended = 0;
  for (const TriedValues& each : tried) {
    seen.insert(each.values);
    trials.push_back(
        {tpe_values(fields, each.values), each.loss.value_or(std::numeric_limits<double>::infinity())});
    ended += each.loss ? 1 : 0;
  }
  const std::vector<TpeDimension> space = tpe_space(fields);
  RandomGenerator random(derive_seed(seed, SeedPurpose::kOrder, tried.size()));
  for (int i = 0; ended >= kTpeRandomTrials && i < kProposals; ++i) {
    const std::vector<double> values = propose_by_tpe(space, trials, ended, random);
    TrialValues proposed;
    for (size_t d = 0; d < fields.size(); ++d)
      proposed.push_back(fields[d].range ? written(*fields[d].range, values[d])
                                         : fields[d].values[static_cast<size_t>(values[d])]);
    if (!seen.contains(proposed)) return proposed;
  }
  // One more than have been tried, so that one of them is new.
  for (TrialValues& drawn : random_trials(fields, std::ssize(tried) + 1, seed)) {
    if (!seen.contains(drawn)) return std::move(drawn);
  }
  return std::nullopt;
}

}  // namespace dtrain
