#include "metrics/sweep_table.h"

#include "catch.h"
#include "sample_sweep.h"

namespace dtrain {
namespace {

TEST_CASE("the table of a sweep") { CHECK(sweep_table(sample_sweep()) == R"(TABLE)"); }

}  // namespace
}  // namespace dtrain
