#include "runs/tune_results.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "core/clock.h"
#include "core/files.h"
#include "core/range.h"
#include "core/text.h"
#include "core/version.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

constexpr int64_t kMostRepeats = 1000;  // folds, and seeds, of a file that is to be believed

// How many trials a rung trains.
size_t size_of_rung(const Tune& tune, size_t rung) {
  if (tune.asynchronous) {
    const auto ended = std::ranges::count_if(tune.trials, [&](const TuneTrial& trial) {
      return trial.scores.size() >= rung || (!trial.error.empty() && trial.scores.size() + 1 == rung);
    });
    return static_cast<size_t>(ended / tune.halving);
  }
  size_t count = tune.trials.size();
  for (size_t i = 0; i < rung; ++i) count /= static_cast<size_t>(tune.halving);
  return std::max<size_t>(1, count);
}

size_t fields_of_repetition(const Tune& tune) {
  return (tune.folds > 0 ? size_t{1} : size_t{0}) + (tune.seeds > 1 ? 1 : 0);
}

TuneTrial combination_of(std::span<const TuneTrial> trials) {
  TuneTrial all{.values = trials.front().values, .scores = {}};
  std::map<int64_t, std::vector<double>> of_epochs;  // a trial that ended early has others of its own
  for (const TuneTrial& one : trials) {
    all.epochs += one.epochs;
    all.seconds += one.seconds;
    if (one.has_result()) all.singles.push_back(one.scores.back());
    if (all.error.empty() && !one.error.empty()) {
      all.error = one.error;
      all.exit_code = one.exit_code;
    }
    for (const auto& [epoch, value] : one.course) of_epochs[epoch].push_back(value);
  }
  const auto mean = [&](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  if (all.singles.size() == trials.size()) all.scores = {mean(all.singles)};
  for (const auto& [epoch, values] : of_epochs) {
    if (values.size() == trials.size()) all.course.emplace_back(epoch, mean(values));
  }
  return all;
}

Event trial_event(const Tune& tune, size_t index) {
  const TuneTrial& trial = tune.trials[index];
  Event event = {{tune.is_combined ? "trials" : "directory", trial_title(tune, index)},
                 {"status", status_of(tune, index)}};
  event["values"] = Event::object();
  for (size_t i = 0; i < tune.fields.size(); ++i) event["values"][tune.fields[i]] = trial.values[i];
  if (trial.has_result() && !tune.is_combined) event[tune.metric] = trial.scores.back();
  event["epochs"] = trial.epochs;
  event["seconds"] = trial.seconds;
  event["scores"] = tune.is_combined ? trial.singles : trial.scores;
  if (tune.asynchronous) event["rung"] = trial.rung;
  if (tune.is_combined && trial.has_result()) {
    event["mean"] = trial.scores.back();
    event["deviation"] = sample_deviation(trial.singles);
  }
  event["evaluations"] = Event::array();
  for (const auto& [epoch, value] : trial.course)
    event["evaluations"].push_back({{"epoch", epoch}, {"value", value}});
  if (!trial.error.empty()) {
    event["exit_code"] = static_cast<int>(trial.exit_code);
    event["error"] = trial.error;
  }
  event["command"] = command_of(tune, index);
  return event;
}

TuneTrial trial_from(const Event& event, const std::vector<std::string>& fields) {
  TuneTrial trial;
  for (const std::string& field : fields)
    trial.values.push_back(event.at("values").at(field).get<std::string>());
  event.at("scores").get_to(trial.scores);
  trial.rung = event.value("rung", size_t{0});  // missing: nothing depends on it
  event.at("epochs").get_to(trial.epochs);
  event.at("seconds").get_to(trial.seconds);
  for (const Event& point : event.at("evaluations"))
    trial.course.emplace_back(point.at("epoch").get<int64_t>(), as_number(point.at("value")).value_or(0));
  if (event.contains("error")) {
    event.at("error").get_to(trial.error);
    trial.exit_code = static_cast<ExitCode>(event.at("exit_code").get<int>());
  }
  return trial;
}

Tune tune_from(const Event& document) {
  Tune tune;
  document.at("name").get_to(tune.name);
  document.at("directory").get_to(tune.directory);
  document.at("command").get_to(tune.command);
  document.at("fields").get_to(tune.fields);
  document.at("metric").get_to(tune.metric);
  metric_info(tune.metric);  // throws if there is none
  tune.of_validation = document.at("part") == "validation";
  document.at("search").get_to(tune.search);
  if (tune.search == "tpe") {
    document.at("combinations_to_try").get_to(tune.combinations);
    document.at("tries").get_to(tune.tries);
    document.at("set").get_to(tune.set);
    document.at("unset").get_to(tune.unset);
    document.at("spec_folder").get_to(tune.spec_folder);
    document.at("working_folder").get_to(tune.working_folder);
  }
  document.at("seed").get_to(tune.seed);
  document.at("halving").get_to(tune.halving);
  tune.asynchronous = document.value("asynchronous", false);  // missing: of an earlier version
  document.at("rung_epochs").get_to(tune.epochs);
  document.at("trials_at_once").get_to(tune.at_once);
  tune.folds = document.value("folds", int64_t{0});  // missing: of an earlier version
  tune.seeds = document.value("seeds", int64_t{1});
  for (const Event& trial : document.at("trials")) tune.trials.push_back(trial_from(trial, tune.fields));
  if (tune.epochs.empty() || (tune.epochs.size() > 1 && tune.halving < 2) || tune.at_once < 1 ||
      tune.folds < 0 || tune.folds > kMostRepeats || tune.seeds < 1 || tune.seeds > kMostRepeats ||
      std::ssize(tune.trials) % tune.trials_each() != 0 || tune.fields.size() < fields_of_repetition(tune) ||
      (tune.search == "tpe" && tune.trials.empty()))
    throw Error(ExitCode::kUsage, "no rungs");
  return tune;
}

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

std::string trial_folder(size_t trial) { return fmt::format("trial-{:03}", trial + 1); }

std::string trial_title(const Tune& tune, size_t trial) {
  if (!tune.is_combined) return trial_folder(trial);
  const auto each = static_cast<size_t>(tune.trials_each());
  return fmt::format("{}-{:03}", trial_folder(trial * each), (trial + 1) * each);
}

Tune combined(const Tune& tune) {
  const auto each = static_cast<size_t>(tune.trials_each());
  if (tune.is_combined || each == 1) return tune;
  Tune whole = tune;
  whole.is_combined = true;
  whole.fields.resize(tune.fields.size() - fields_of_repetition(tune));
  whole.trials.clear();
  for (size_t first = 0; first < tune.trials.size(); first += each) {
    whole.trials.push_back(combination_of(std::span(tune.trials).subspan(first, each)));
    whole.trials.back().values.resize(whole.fields.size());
  }
  return whole;
}

double sample_deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

std::vector<size_t> trials_of_rung(const Tune& tune, size_t rung) {
  std::vector<size_t> trials;
  for (size_t i = 0; i < tune.trials.size(); ++i) {
    const TuneTrial& trial = tune.trials[i];
    // One that failed in a later rung took its place in it.
    if (rung == 0 || trial.scores.size() >= rung) trials.push_back(i);
  }
  if (rung == 0) return trials;
  std::ranges::stable_sort(trials, [&](size_t a, size_t b) {
    return is_better(tune.metric, "auto", tune.trials[a].scores[rung - 1], tune.trials[b].scores[rung - 1]);
  });
  const size_t best = std::min(trials.size(), size_of_rung(tune, rung));
  if (!tune.asynchronous) {
    trials.resize(best);
    std::ranges::sort(trials);
    return trials;
  }
  // What has begun the rung stays in it, though others were better later.
  const auto leaves = [&](size_t i) { return tune.trials[i].rung < rung; };
  trials.erase(std::remove_if(trials.begin() + static_cast<std::ptrdiff_t>(best), trials.end(), leaves),
               trials.end());
  return trials;
}

std::vector<size_t> ranking(const Tune& tune) {
  std::vector<size_t> order = consecutive(size_t{0}, tune.trials.size());
  const auto comes_before = [&](size_t a, size_t b) {
    const TuneTrial &one = tune.trials[a], &other = tune.trials[b];
    if (one.error.empty() != other.error.empty()) return one.error.empty();
    if (!one.has_result() || one.scores.size() != other.scores.size())
      return one.scores.size() > other.scores.size();
    return is_better(tune.metric, "auto", one.scores.back(), other.scores.back());
  };
  std::ranges::stable_sort(order, comes_before);
  return order;
}

std::optional<size_t> best_trial(const Tune& tune) {
  const std::vector<size_t> order = ranking(tune);
  if (order.empty() || !tune.trials[order.front()].has_result()) return std::nullopt;
  return order.front();
}

std::string status_of(const Tune& tune, size_t trial) {
  const TuneTrial& one = tune.trials[trial];
  const size_t rung = one.scores.size();
  if (!one.error.empty()) return "failed";
  if (rung == tune.epochs.size()) return "trained";
  if (rung == 0) return "unfinished";
  // It is dropped once all trials of its rung have ended and others went on.
  for (const size_t i : trials_of_rung(tune, rung - 1)) {
    if (tune.trials[i].error.empty() && tune.trials[i].scores.size() < rung) return "unfinished";
  }
  const std::vector<size_t> next = trials_of_rung(tune, rung);
  return std::ranges::find(next, trial) == next.end() ? "dropped" : "unfinished";
}

std::string command_of(const Tune& tune, size_t trial) {
  std::string command = tune.command;
  if (tune.folds > 0 && !tune.is_combined)
    command += fmt::format(" --set data.split.folds={} --set data.split.validation=none", tune.folds);
  for (size_t i = 0; i < tune.fields.size(); ++i)
    command += " --set " + shell_word(tune.fields[i] + "=" + tune.trials[trial].values[i]);
  return command;
}

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

Event tune_document(const Tune& tune) {
  Event document = {{"name", tune.name},           {"time", utc_time()},
                    {"directory", tune.directory}, {"command", tune.command},
                    {"metric", tune.metric},       {"part", tune.of_validation ? "validation" : "test"},
                    {"search", tune.search},       {"seed", tune.seed},
                    {"halving", tune.halving},     {"asynchronous", tune.asynchronous},
                    {"rung_epochs", tune.epochs},  {"trials_at_once", tune.at_once},
                    {"folds", tune.folds},         {"seeds", tune.seeds},
                    {"dtrain", kVersion},          {"fields", tune.fields}};
  if (tune.search == "tpe") {
    document["combinations_to_try"] = tune.combinations;
    document["tries"] = tune.tries;
    document["set"] = tune.set;
    document["unset"] = tune.unset;
    document["spec_folder"] = tune.spec_folder;
    document["working_folder"] = tune.working_folder;
  }
  const Tune whole = combined(tune);
  if (const auto best = best_trial(whole)) {
    document["best"] = trial_title(whole, *best);
    document["best_command"] = command_of(whole, *best);
  }
  if (whole.is_combined) {
    document["combinations"] = Event::array();
    for (const size_t i : ranking(whole)) document["combinations"].push_back(trial_event(whole, i));
  }
  const std::vector<std::optional<double>> importance = importance_of_fields(whole);
  for (size_t i = 0; i < importance.size(); ++i) {
    if (importance[i]) document["importance"][whole.fields[i]] = *importance[i];
  }
  document["trials"] = Event::array();
  for (size_t i = 0; i < tune.trials.size(); ++i) document["trials"].push_back(trial_event(tune, i));
  return document;
}

Tune read_tune(const std::filesystem::path& file) {
  constexpr int64_t kMostBytes = int64_t{256} << 20;
  const std::string text = read_file(file, kMostBytes, ExitCode::kUsage);
  try {
    return tune_from(Event::parse(text));
  } catch (const std::exception&) {
    throw Error(ExitCode::kUsage, "{} is damaged; start the tune again", file.string());
  }
}

}  // namespace dtrain
