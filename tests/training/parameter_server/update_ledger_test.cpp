#include "parameter_server/update_ledger.h"

#include <random>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr double kNow = 5;

int64_t make_update(UpdateLedger& ledger, int worker) {
  return ledger.update(worker, ledger.done(worker) + 1, 10, kNow);
}

TEST_CASE("staleness is the number of updates by others since the worker has read") {
  UpdateLedger ledger(3, std::nullopt);
  CHECK(ledger.read(0) == 0);
  CHECK(ledger.read(1) == 0);
  CHECK(ledger.read(2) == 0);
  CHECK(make_update(ledger, 1) == 0);
  CHECK(make_update(ledger, 2) == 1);
  CHECK(ledger.read(1) == 2);
  CHECK(make_update(ledger, 1) == 0);
  CHECK(make_update(ledger, 0) == 3);
  CHECK(ledger.version() == 4);
  const WorkersReport report = ledger.report();
  CHECK(report.staleness.updates() == 4);
  CHECK(report.staleness.mean() == 1.0);
  CHECK(report.staleness.maximum() == 3);
  CHECK(report.workers[1].updates == 2);
  CHECK(report.workers[1].examples == 20);
}

TEST_CASE("an update is made once, in order, and only from something that was read") {
  UpdateLedger ledger(1, std::nullopt);
  CHECK_THROWS_AS(ledger.update(0, 1, 10, kNow), Error);  // has read nothing
  ledger.read(0);
  CHECK_FALSE(ledger.was_made(0, 1));
  CHECK_THROWS_AS(ledger.update(0, 2, 10, kNow), Error);  // the first one is missing
  ledger.update(0, 1, 10, kNow);
  CHECK(ledger.was_made(0, 1));
  CHECK_FALSE(ledger.was_made(0, 2));
  ledger.read(0);
  ledger.skip(0, 2);
  CHECK(ledger.was_made(0, 2));
  CHECK(ledger.version() == 1);
  ledger.read(0);
  CHECK_THROWS_AS(ledger.update(0, 2, 10, kNow), Error);
}

TEST_CASE("a fast worker waits for a slow one at the bound, and no longer") {
  UpdateLedger ledger(2, 2);
  ledger.read(0);
  for (int i = 0; i < 2; ++i) {
    ledger.read(1);
    REQUIRE(ledger.may_update(1));
    make_update(ledger, 1);
  }
  ledger.read(1);
  CHECK_FALSE(ledger.may_update(1));  // it would make the slow one 3 updates old
  CHECK(ledger.may_update(0));
  CHECK(make_update(ledger, 0) == 2);
  CHECK(ledger.may_update(1));
}

TEST_CASE("nobody waits for a worker that is lost, that skips or that has ended") {
  const int way = GENERATE(0, 1, 2);
  UpdateLedger ledger(2, 1);
  ledger.read(0);
  ledger.read(1);
  make_update(ledger, 1);
  ledger.read(1);
  REQUIRE_FALSE(ledger.may_update(1));
  if (way == 0) ledger.lose(0);
  if (way == 1) ledger.skip(0, 1);
  if (way == 2) ledger.end_training(0);
  CHECK(ledger.may_update(1));
  CHECK(ledger.is_training(0) == (way == 1));
  CHECK(ledger.all_others_have_ended(1) == (way != 1));
  CHECK(ledger.report().workers[0].lost == (way == 0));
}

TEST_CASE("a worker that dies after its training is not lost") {
  UpdateLedger ledger(2, std::nullopt);
  ledger.end_training(0);
  ledger.lose(0);
  CHECK_FALSE(ledger.report().workers[0].lost);
}

TEST_CASE("a worker that comes back goes on after its last step, and makes none of its updates again") {
  UpdateLedger ledger(2, 1);
  ledger.take_back(0);  // was never away
  CHECK(ledger.returns(0) == 0);
  ledger.read(0);
  make_update(ledger, 0);
  ledger.read(0);
  ledger.lose(0);
  CHECK(ledger.all_others_have_ended(1));
  ledger.take_back(0);
  CHECK_FALSE(ledger.is_lost(0));
  CHECK(ledger.is_training(0));
  CHECK_FALSE(ledger.is_computing(0));
  CHECK(ledger.done(0) == 1);
  CHECK(ledger.was_made(0, 1));
  ledger.read(0);
  make_update(ledger, 0);
  ledger.lose(0);
  ledger.take_back(0);
  const WorkersReport report = WorkersReport::from_values(ledger.report().values());
  CHECK(report.workers[0].returns == 2);
  CHECK(report.workers[0].updates == 2);
  CHECK_FALSE(report.workers[0].lost);
  CHECK(report.workers[1].returns == 0);
}

TEST_CASE("a phase waits for those that train, and no update from before it is still to come") {
  UpdateLedger ledger(3, 2);
  for (int worker = 0; worker < 3; ++worker) CHECK_FALSE(ledger.allows_phase(worker, 1));
  ledger.read(0);
  ledger.reach_phase(0, 1);
  CHECK_FALSE(ledger.is_computing(0));
  CHECK(ledger.allows_phase(0, 1));
  CHECK_FALSE(ledger.allows_phase(0, 2));
  ledger.lose(1);
  CHECK(ledger.allows_phase(1, 1));
  ledger.end_training(2);
  CHECK(ledger.allows_phase(2, 1));
  ledger.set_done(0, 9);
  ledger.begin_phase(7);
  CHECK(ledger.done(0) == 9);
  CHECK(ledger.done(1) == 7);
  ledger.take_back(1);
  CHECK_FALSE(ledger.allows_phase(1, 2));
  ledger.lose(0);  // while it waited for the phase
  ledger.take_back(0);
  CHECK_FALSE(ledger.allows_phase(0, 1));
}

// Workers of random speeds read, compute and try to update, in every order that chance makes.
TEST_CASE("the bound is never exceeded and somebody can always go on") {
  const int workers = GENERATE(1, 2, 3, 5, 9);
  const int64_t slack = GENERATE(int64_t{0}, 1, 4);
  const int64_t bound = workers - 1 + slack;
  std::mt19937 random(static_cast<unsigned>(workers * 100 + slack));
  UpdateLedger ledger(workers, bound);
  std::vector<bool> computes(static_cast<size_t>(workers)), wants_to_update(computes);
  for (int event = 0; event < 20000; ++event) {
    // A third of the workers is much slower than the rest.
    int worker = static_cast<int>(random() % static_cast<unsigned>(workers));
    if (worker % 3 == 0 && random() % 20 != 0) worker = (worker + 1) % workers;
    const auto at = static_cast<size_t>(worker);
    if (!computes[at]) {
      ledger.read(worker);
      computes[at] = true;
    } else if (!wants_to_update[at]) {
      wants_to_update[at] = true;
    } else if (ledger.may_update(worker)) {
      REQUIRE(make_update(ledger, worker) <= bound);
      computes[at] = wants_to_update[at] = false;
    }
    // Whoever waits depends on those who still compute; when nobody does, one may go on.
    if (wants_to_update == std::vector<bool>(computes.size(), true)) {
      bool any = false;
      for (int other = 0; other < workers; ++other) any = any || ledger.may_update(other);
      REQUIRE(any);
    }
  }
  CHECK(ledger.report().staleness.maximum() <= bound);
  CHECK(ledger.report().staleness.updates() > 100);
}

TEST_CASE("the slowest of all may update whenever it comes") {
  UpdateLedger ledger(4, 3);
  ledger.read(0);  // first of all
  for (int worker = 1; worker < 4; ++worker) ledger.read(worker);
  CHECK(ledger.may_update(0));
  make_update(ledger, 3);
  make_update(ledger, 2);
  CHECK(ledger.may_update(0));
  CHECK(ledger.may_update(1));
}

TEST_CASE("a histogram is exact below 64 and of bounded size above") {
  StalenessHistogram histogram;
  for (const int64_t staleness : {0, 0, 3, 63, 64, 127, 128, 1'000'000}) histogram.add(staleness);
  histogram.add(INT64_MAX / 2);
  CHECK(histogram.counts()[0] == 2);
  CHECK(histogram.counts()[3] == 1);
  CHECK(histogram.counts()[63] == 1);
  CHECK(histogram.counts()[64] == 2);
  CHECK(histogram.counts()[65] == 1);
  CHECK(histogram.updates() == 9);
  CHECK(histogram.maximum() == INT64_MAX / 2);
  CHECK(StalenessHistogram::name_of(63) == "63");
  CHECK(StalenessHistogram::name_of(64) == "64-127");
  CHECK(StalenessHistogram::name_of(65) == "128-255");
}

TEST_CASE("a report survives being sent, and those of several servers add up") {
  UpdateLedger one(2, std::nullopt), two(2, std::nullopt);
  for (UpdateLedger* ledger : {&one, &two}) {
    ledger->read(0);
    ledger->read(1);
    ledger->update(0, 1, 10, 1.5);
    ledger->update(1, 1, 11, 2.5);
    ledger->read(0);
    ledger->update(0, 2, 10, 3.5);
  }
  two.lose(1);
  WorkersReport sum = WorkersReport::from_values(one.report().values());
  sum.add(WorkersReport::from_values(two.report().values()));
  CHECK(sum.staleness.updates() == 6);
  CHECK(sum.staleness.counts()[1] == 2);
  CHECK(sum.staleness.maximum() == 1);
  REQUIRE(sum.workers.size() == 2);
  CHECK(sum.workers[0].updates == 2);
  CHECK(sum.workers[0].updates_per_second() == Approx(0.5));
  CHECK(sum.workers[1].examples == 11);
  CHECK(sum.workers[1].updates_per_second() == 0);
  CHECK_FALSE(sum.workers[0].lost);
  CHECK(sum.workers[1].lost);
}

}  // namespace
}  // namespace dtrain
