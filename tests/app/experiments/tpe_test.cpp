// What `dtrain tune --tpe` proposes: on functions whose lowest values are known, and on a recorded grid.
// scripts/check_tune compares the medians with Optuna's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "catch.h"
#include "core/text.h"
#include "experiments/search_space.h"

namespace dtrain {
namespace {

using Loss = std::function<double(const TrialValues&)>;  // the lower the better

std::vector<TriedField> tpe_fields(const std::vector<std::string>& tries) {
  std::vector<Problem> problems;
  std::vector<TriedField> fields = read_tries(tries, problems);
  for (const Problem& problem : problems) FAIL_CHECK(problem.to_string());
  return fields;
}

// What is tried, one after another.
std::vector<TriedValues> tpe_search(const std::vector<TriedField>& fields, int count, uint64_t seed,
                                    const Loss& loss) {
  std::vector<TriedValues> tried;
  while (std::ssize(tried) < count) {
    auto values = propose_trial(fields, tried, seed);
    if (!values) break;
    const double came_to = loss(*values);
    tried.push_back({std::move(*values), came_to});
  }
  return tried;
}

// Branin's function: its lowest value is 0.397887.
double branin(const TrialValues& values) {
  constexpr double kPi = std::numbers::pi;
  const double x = std::stod(values[0]), y = std::stod(values[1]);
  const double curve = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  return curve * curve + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

// Hartmann's function of six numbers: its lowest value is -3.32237.
double hartmann(const TrialValues& values) {
  constexpr double kScale[4] = {1, 1.2, 3, 3.2};
  constexpr double kWidth[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kMiddle[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                    {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                    {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                    {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (size_t d = 0; d < 6; ++d) {
      const double apart = std::stod(values[d]) - kMiddle[i][d];
      distance += kWidth[i][d] * apart * apart;
    }
    sum -= kScale[i] * std::exp(-distance);
  }
  return sum;
}

// What a grid of 300 trials of a small job came to, by the numbers of their values.
Loss recorded_grid() {
  std::ifstream lines(DTRAIN_SOURCE_DIR "/tests/golden/tune/grid.csv");
  std::map<TrialValues, double> losses;
  for (std::string line; std::getline(lines, line);) {
    TrialValues cells = split(line, ',');
    const double loss = std::stod(cells.back());
    cells.pop_back();
    losses[cells] = loss;
  }
  REQUIRE(losses.size() == 300);
  return [losses](const TrialValues& values) { return losses.at(values); };
}

double median_of_bests(const std::vector<TriedField>& fields, const Loss& loss, bool tpe) {
  std::vector<double> bests;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    double best = std::numeric_limits<double>::infinity();
    if (tpe) {
      for (const TriedValues& each : tpe_search(fields, 40, seed, loss)) best = std::min(best, *each.loss);
    } else {
      for (const TrialValues& values : random_trials(fields, 40, seed)) best = std::min(best, loss(values));
    }
    bests.push_back(best);
  }
  std::ranges::sort(bests);
  return (bests[9] + bests[10]) / 2;
}

TEST_CASE("the median of what 40 proposals find is lower than what chance finds") {
  struct Task {
    std::string name;
    std::vector<std::string> tries;
    Loss loss;
    double limit;
  };
  const std::vector<Task> tasks = {
      {"branin", {"x=uniform(-5,10)", "y=uniform(0,15)"}, branin, 1.0},
      {"hartmann6",
       {"a=uniform(0,1)", "b=uniform(0,1)", "c=uniform(0,1)", "d=uniform(0,1)", "e=uniform(0,1)",
        "f=uniform(0,1)"},
       hartmann,
       -2.25},
      {"grid",
       {"rate=int(0,9)", "units=int(0,4)", "batch=int(0,2)", "optimizer=sgd,adam"},
       recorded_grid(),
       0.12},
  };
  for (const Task& task : tasks) {
    const std::vector<TriedField> fields = tpe_fields(task.tries);
    const double found = median_of_bests(fields, task.loss, true);
    const double by_chance = median_of_bests(fields, task.loss, false);
    if (std::getenv("DTRAIN_PRINT_MEDIANS") != nullptr)
      std::cout << fmt::format("{} {} {}", task.name, found, by_chance) << std::endl;
    INFO(task.name);
    CHECK(found < task.limit);
    CHECK(by_chance > task.limit);
  }
}

TEST_CASE("proposals depend on the results and the seed alone, and are within their ranges") {
  const auto fields = tpe_fields({"l=log(1e-4,1e-1)", "i=int(2,9)", "u=uniform(-1,1)", "c=a,b,c"});
  const Loss loss = [](const TrialValues& values) {
    return std::abs(std::log10(std::stod(values[0])) + 3) + std::abs(std::stod(values[1]) - 4) +
           std::abs(std::stod(values[2])) + (values[3] == "b" ? 0 : 1);
  };
  std::vector<TrialValues> all, again, others;
  for (const TriedValues& each : tpe_search(fields, 60, 1, loss)) all.push_back(each.values);
  for (const TriedValues& each : tpe_search(fields, 60, 1, loss)) again.push_back(each.values);
  for (const TriedValues& each : tpe_search(fields, 60, 2, loss)) others.push_back(each.values);
  CHECK(again == all);
  CHECK(others != all);
  CHECK(std::vector<TrialValues>(all.begin(), all.begin() + 10) == random_trials(fields, 10, 1));
  int near = 0;
  for (size_t n = 0; n < all.size(); ++n) {
    const double l = std::stod(all[n][0]), i = std::stod(all[n][1]), u = std::stod(all[n][2]);
    CHECK((l >= 1e-4 && l <= 1e-1 && i >= 2 && i <= 9 && i == std::floor(i) && u >= -1 && u <= 1));
    near += n >= 40 && std::abs(std::log10(l) + 3) < 0.75 && std::abs(i - 4) < 2 && all[n][3] == "b" ? 1 : 0;
  }
  CHECK(near >= 8);  // of the last 20; by chance, about one in sixteen would be
}

TEST_CASE("nothing is proposed twice, and all that there is at last") {
  const auto fields = tpe_fields({"a=1,2,3,4", "i=int(1,3)"});
  const auto tried = tpe_search(
      fields, 100, 5, [](const TrialValues& values) { return std::stod(values[0]) * std::stod(values[1]); });
  std::set<TrialValues> different;
  for (const TriedValues& each : tried) different.insert(each.values);
  CHECK(tried.size() == 12);
  CHECK(different.size() == 12);
}

TEST_CASE("what fails is proposed less often, also where nothing else has ended") {
  const auto fields = tpe_fields({"kind=sound,broken", "x=uniform(0,1)"});
  const double failed = std::numeric_limits<double>::infinity();
  const auto tried = tpe_search(fields, 50, 3, [&](const TrialValues& values) {
    return values[0] == "broken" ? failed : std::stod(values[1]);
  });
  CHECK(std::ranges::count_if(tried.begin() + 20, tried.end(),
                              [](const TriedValues& each) { return each.values[0] == "broken"; }) <= 8);
  CHECK(tpe_search(fields, 30, 3, [&](const TrialValues&) { return failed; }).size() == 30);
}

TEST_CASE("trials that still run keep others away") {
  const auto fields = tpe_fields({"x=uniform(0,1)"});
  std::vector<TriedValues> tried;
  for (int i = 0; i < 20; ++i) {
    const double x = (i + 0.5) / 20;
    tried.push_back({{std::to_string(x)}, std::abs(x - 0.5)});
  }
  std::vector<TriedValues> with_running = tried;
  for (const char* const x : {"0.48", "0.49", "0.5", "0.51", "0.52"}) with_running.push_back({{x}});
  const auto distance = [&](const std::vector<TriedValues>& given) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 40; ++seed)
      sum += std::abs(std::stod(propose_trial(fields, given, seed)->front()) - 0.5);
    return sum / 40;
  };
  CHECK(distance(with_running) > 2 * distance(tried));
}

}  // namespace
}  // namespace dtrain
