#include "diagnostics/doctor.h"

#include <mutex>

#include "catch.h"
#include "comm/gloo_group.h"
#include "comm/group_threads.h"

namespace dtrain {
namespace {

TEST_CASE("all links of a few hosts, and a ring of many") {
  CHECK(links_among(2).size() == 1);
  CHECK(links_among(16).size() == 120);
  const auto ring = links_among(17);
  REQUIRE(ring.size() == 17);
  CHECK(ring.back().first == 16);
  CHECK(ring.back().second == 0);
}

TEST_CASE("every rank knows how fast every link is") {
  std::mutex mutex;
  std::vector<std::vector<LinkSpeed>> known;
  with_ranks("gloo", 3, [&](ProcessGroup& group) {
    const std::vector<LinkSpeed> links = measure_links(dynamic_cast<GlooGroup&>(group));
    const std::lock_guard lock(mutex);
    known.push_back(links);
  });
  REQUIRE(known.size() == 3);
  for (const std::vector<LinkSpeed>& links : known) {
    REQUIRE(links.size() == 3);
    for (size_t i = 0; i < links.size(); ++i) {
      CHECK(links[i].round_trip_us > 1);
      CHECK(links[i].round_trip_us < 1e5);
      CHECK(links[i].gb_per_second > 0.01);
      CHECK(links[i].gb_per_second < 1000);
      CHECK(links[i].gb_per_second == known[0][i].gb_per_second);
    }
  }
}

}  // namespace
}  // namespace dtrain
