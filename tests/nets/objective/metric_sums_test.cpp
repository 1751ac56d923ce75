#include "objective/metric_sums.h"

#include <future>

#include "catch.h"
#include "core/error.h"
#include "objective/objective.h"

namespace dtrain {
namespace {

// The sums of a batch, which are read when somebody asks for them, and counted in `read`.
std::shared_future<std::vector<double>> later(double loss, int& read) {
  return std::async(std::launch::deferred,
                    [loss, &read] {
                      ++read;
                      return std::vector<double>{loss, 4, 2};
                    })
      .share();
}

TEST_CASE("sums that are still computed are waited for when somebody looks, and once") {
  const ObjectiveInfo& info = objective_info("cross_entropy");
  int read = 0;
  MetricSums window;
  for (const double loss : {1.0, 2.0}) {
    MetricSums step;
    step.add_pending(info, later(loss, read));
    window.add(step);
  }
  CHECK(read == 0);
  MetricSums copy;
  copy.add(window);
  CHECK(copy.examples() == 8);
  CHECK(copy.loss() == 3.0 / 8);
  CHECK(window.named() == copy.named());
  CHECK(read == 2);
}

TEST_CASE("sums of many batches do not pile up, and their order stays") {
  const ObjectiveInfo& info = objective_info("cross_entropy");
  int read = 0;
  MetricSums pending;
  MetricSums known;
  for (int batch = 0; batch < 5000; ++batch) {
    const double loss = 0.1 * batch;  // whose sum depends on the order in its last bits
    pending.add_pending(info, later(loss, read));
    known.add_sums(info, {loss, 4, 2});
  }
  CHECK(read > 500);
  CHECK(read < 5000);
  pending.add(known);  // adds up what is pending first
  CHECK(read == 5000);
  CHECK(pending.named().at("loss") == 2 * known.named().at("loss"));
}

TEST_CASE("what fails while sums are computed is thrown where somebody looks") {
  MetricSums sums;
  sums.add_pending(objective_info("cross_entropy"),
                   std::async(std::launch::deferred, []() -> std::vector<double> {
                     throw Error(ExitCode::kMemory, "out of memory on a device");
                   }).share());
  CHECK_THROWS_AS(sums.examples(), Error);
}

}  // namespace
}  // namespace dtrain
