// The processor cores of this host, and how replicas share them.
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

// How many cores this process can keep busy: the cores in its affinity mask (so it respects taskset, cpusets
// and containers), or fewer if its control group, or one that contains it, has a quota of processor time: 2
// for a quota of 2.5. At least 1. `root` is the folder with /proc and /sys.
int available_cores(const std::filesystem::path& root = "/");

// Restricts this process to `count` of the available cores. Until this process ends, no other process that
// calls this, of whatever job, gets the same cores. Takes the cores numbered from local_rank * count if these
// are free. Does nothing if the replicas together want more cores than there are, or if too few are free: the
// kernel then shares them better than we could. `mark` is the name under which cores are marked as taken;
// processes that use another name do not see the marks.
void keep_to_own_cores(int local_rank, int local_replicas, int count,
                       const std::string& mark = "dtrain core");

}  // namespace dtrain
