// dtrain plan --at-hosts measures the job's own steps.
#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

TEST_CASE("a forecast measures the steps of one host, and leaves nothing behind") {
  const Job job;
  const Finished run = run_program(Arguments{"plan", job.spec_file().string(), "--at-hosts", "1,2,100",
                                             "--link", "10gbit,100us", "--calibrate", "--json"} +
                                   Job::set({"strategy.kind=mirrored", "strategy.replicas=2"}));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = Event::parse(run.output);
  CHECK(document.at("measured").at("from") == "this host");
  CHECK(document.at("measured").at("replicas") == 2);
  CHECK(document.at("measured").at("durations") == 16);  // of 26 steps, 10 are skipped
  CHECK(document.at("measured").at("phases_seconds").at("compute") > 0);
  const Event& rows = document.at("forecast");
  REQUIRE(rows.size() == 12);
  CHECK(std::abs(rows[0].at("efficiency").get<double>() - 1) < 1e-9);
  CHECK(rows[4].at("examples_per_second") > 0);
  CHECK(!std::filesystem::exists(job.run_folder()));
}

}  // namespace
}  // namespace dtrain
