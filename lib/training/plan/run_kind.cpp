#include "plan/job_plan.h"

#include <array>

namespace dtrain {
namespace {

// In the order of RunKind.
const std::array<RunTraits, 3> kRuns = {{
    {.name = "baseline"},
    {.name = "overhead", .trains = false},
    {.name = "distributed", .saves = true, .resumes = true, .is_observed = true, .spans_hosts = true},
}};

}  // namespace

const RunTraits& traits_of(RunKind kind) { return kRuns[static_cast<size_t>(kind)]; }

const std::string& name_of(RunKind kind) { return traits_of(kind).name; }

}  // namespace dtrain
