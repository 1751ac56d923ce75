// The processor cores of this host and how replicas share them.
#pragma once

#include <cstdint>
#include <string>

namespace dtrain {

// Cores this process may run on (its affinity mask: respects taskset, cgroup cpusets and containers).
int available_cores();

// Keeps this process on its own cores: of the available ones, `count` from number local_rank * count on. Does
// nothing when the replicas together want more cores than there are: then the kernel shares better than we
// do.
void keep_to_own_cores(int local_rank, int local_replicas, int count);

// What the kernel calls the processor, such as "AMD EPYC 7B13"; "unknown processor" when it does not say.
std::string processor_name();

}  // namespace dtrain
