// What `--try` may say, and the trials that come of it.
#include "experiments/search_space.h"

#include <cmath>
#include <set>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

using Strings = std::vector<std::string>;

std::vector<TriedField> fields_of(const Strings& tries) {
  std::vector<Problem> problems;
  std::vector<TriedField> fields = read_tries(tries, problems);
  for (const Problem& problem : problems) FAIL_CHECK(problem.to_string());
  return fields;
}

std::string problems_of_tries(const Strings& tries) {
  std::vector<Problem> problems;
  read_tries(tries, problems);
  std::string lines;
  for (const Problem& problem : problems) lines += problem.to_string() + "\n";
  return lines;
}

TEST_CASE("values are divided at commas, but not within lists and quotes") {
  CHECK(fields_of({"batch.global=64, 128"})[0].values == Strings{"64", "128"});
  CHECK(fields_of({"model.hidden=[128],[256,128]"})[0].values == Strings{"[128]", "[256,128]"});
  CHECK(fields_of({R"(data.augment=[flip,{kind: rotate, degrees: 5}],[])"})[0].values ==
        Strings{"[flip,{kind: rotate, degrees: 5}]", "[]"});
  CHECK(fields_of({R"(name="a,b",c)"})[0].values == Strings{R"("a,b")", "c"});
}

TEST_CASE("a grid is every combination, the last field first") {
  const auto grid = grid_trials(fields_of({"a=1,2", "b=x,y,z"}));
  CHECK(grid ==
        std::vector<TrialValues>{{"1", "x"}, {"1", "y"}, {"1", "z"}, {"2", "x"}, {"2", "y"}, {"2", "z"}});
}

TEST_CASE("drawn trials are different ones of the grid, and all of it if there are no more") {
  const auto fields = fields_of({"a=1,2,3,4", "b=x,y,z"});
  const auto some = random_trials(fields, 7, 3);
  CHECK(some.size() == 7);
  CHECK(std::set<TrialValues>(some.begin(), some.end()).size() == 7);
  CHECK(random_trials(fields, 7, 3) == some);
  CHECK(random_trials(fields, 7, 4) != some);
  const auto all = random_trials(fields, 100, 3), grid = grid_trials(fields);
  CHECK(std::set<TrialValues>(all.begin(), all.end()) == std::set<TrialValues>(grid.begin(), grid.end()));
}

TEST_CASE("numbers are drawn evenly from their range") {
  const auto trials =
      random_trials(fields_of({"l=log(1e-4,1e-2)", "u=uniform(-1, 3)", "i=int(2,4)"}), 900, 1);
  REQUIRE(trials.size() == 900);
  int low = 0, below_one = 0, twos = 0;
  for (const TrialValues& trial : trials) {
    const double l = std::stod(trial[0]), u = std::stod(trial[1]), i = std::stod(trial[2]);
    CHECK((l >= 1e-4 && l <= 1e-2 && u >= -1 && u <= 3 && i >= 2 && i <= 4));
    CHECK(i == std::floor(i));
    low += l < 1e-3 ? 1 : 0;
    below_one += u < 1 ? 1 : 0;
    twos += i == 2 ? 1 : 0;
  }
  // Within six standard deviations: sqrt(900 * p * (1 - p)) is 15, and 14.1 for a third.
  CHECK(std::abs(low - 450) < 90);
  CHECK(std::abs(below_one - 450) < 90);
  CHECK(std::abs(twos - 300) < 85);
}

TEST_CASE("numbers have as many digits as their range needs, and are not rounded out of it") {
  const auto narrow =
      random_trials(fields_of({"u=uniform(0.0001,0.00010001)", "l=log(0.0001,0.00010001)", "c=1"}), 100, 1);
  CHECK(narrow.size() == 100);
  std::set<std::string> uniform, logarithmic;
  for (const TrialValues& trial : narrow) {
    uniform.insert(trial[0]);
    logarithmic.insert(trial[1]);
    for (const size_t i : {0, 1}) CHECK((std::stod(trial[i]) >= 0.0001 && std::stod(trial[i]) <= 0.00010001));
  }
  CHECK(uniform.size() > 80);
  CHECK(logarithmic.size() > 80);
  const auto all = random_trials(fields_of({"u=uniform(1.23401,2)"}), 1000, 1);  // all 767 that there are
  CHECK(all.size() == 767);
  for (const TrialValues& trial : all) CHECK(std::stod(trial[0]) >= 1.23401);
}

TEST_CASE("what --try does not take is said of all at once") {
  const std::string problems =
      problems_of_tries({"a", "=1", "b=1,2", "b=3", "c=1,1", "d=1,,2", "e=", "f=log(1,x)", "g=log(0,1)",
                         "h=uniform(2,1)", "i=int(0.5,2)", "j=uniform(-1e308,1e308)"});
  CHECK_THAT(problems, ContainsSubstring("'a' is not of the form PATH=VALUE") &&
                           ContainsSubstring("'=1' is not of the form") &&
                           ContainsSubstring("b: is tried twice") &&
                           ContainsSubstring("c: 1 is named twice") &&
                           ContainsSubstring("d: there is no value between two commas") &&
                           ContainsSubstring("e: there is no value") &&
                           ContainsSubstring("f: log(1,x) is not a range of two numbers") &&
                           ContainsSubstring("g: log(0,1) begins at a number that has no logarithm") &&
                           ContainsSubstring("h: uniform(2,1) does not ascend") &&
                           ContainsSubstring("i: int(0.5,2) is not between two whole numbers") &&
                           ContainsSubstring("j: uniform(-1e308,1e308) is wider than a number can be"));
  CHECK_THROWS_WITH(grid_trials(fields_of({"a=log(1,2)"})), ContainsSubstring("add --random N"));
  std::string many = "=0";
  for (int i = 1; i < 40; ++i) many += "," + std::to_string(i);
  CHECK_THROWS_WITH(grid_trials(fields_of({"a" + many, "b" + many})),
                    ContainsSubstring("the grid has 1600 trials, and a tune at most 1,000"));
}

}  // namespace
}  // namespace dtrain
