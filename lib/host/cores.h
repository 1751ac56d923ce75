// The processor cores of this host and how replicas share them.
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

// Cores this process can keep busy: those it may run on (its affinity mask: respects taskset, cpusets and
// containers), or fewer, but at least one, where its control group or one around it has a quota of processor
// time: 2 for a quota of 2.5. `root` is where /proc and /sys are.
int available_cores(const std::filesystem::path& root = "/");

// Keeps this process on `count` of the available cores that are its own: no other process that asked for
// some, of whatever job, has them, until this one ends. Numbers local_rank * count and on when these are
// free. Does nothing when the replicas together want more cores than there are, or too few are left: then the
// kernel shares better than we do. `mark` is what a core that is taken is marked with: those that use another
// one do not see it.
void keep_to_own_cores(int local_rank, int local_replicas, int count,
                       const std::string& mark = "dtrain core");

}  // namespace dtrain
