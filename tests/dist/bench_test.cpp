// The all-reduce benchmark, between real processes.
#include <algorithm>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

Arguments bench(const Arguments& more) { return Arguments{"bench", "allreduce", "--iterations", "3"} + more; }

TEST_CASE("both backends sum exactly, whatever the type, the size and the number of replicas") {
  const std::string dtype = GENERATE("float32", "bfloat16", "int64");
  const Finished run =
      run_program(bench({"--replicas", "3", "--sizes", "8B,1000B,2MB", "--dtype", dtype, "--json"}));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const auto lines = lines_of(run.output);
  REQUIRE(lines.size() == 6);
  std::vector<std::string> backends;
  for (const std::string& line : lines) {
    const Event row = Event::parse(line);
    CHECK(row["wrong"] == 0);
    CHECK(row["dtype"] == dtype);
    CHECK(row["count"] > 0);
    CHECK(row["median_us"] >= row["min_us"]);
    backends.push_back(row["communication"]);
  }
  CHECK(std::count(backends.begin(), backends.end(), "gloo") == 3);
  CHECK(std::count(backends.begin(), backends.end(), "shared_memory") == 3);
}

TEST_CASE("the table ends with a verdict") {
  const Finished run = run_program(bench({"--replicas", "2", "--sizes", "1KB"}));
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("# OK: every sum was exact"));
}

TEST_CASE("a size without an element is refused") {
  const Finished run = run_program(bench({"--replicas", "2", "--sizes", "1B..1KB"}));
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("less than one float32 of 4 bytes"));
}

}  // namespace
}  // namespace dtrain
