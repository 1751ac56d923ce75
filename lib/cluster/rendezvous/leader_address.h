// Where the first host of a job listens, and where others find it.
#pragma once

#include <optional>
#include <string>

namespace dtrain {

// The address on which this host, which the others know as `name`, listens: that of `interface`
// (network.interface), or an address of this host that `name` resolves to. Throws Error(kUsage) if there is
// none, or if it is a loopback address (a usual entry in /etc/hosts) although others are `elsewhere`.
std::string leader_address(const std::optional<std::string>& interface, const std::string& name,
                           bool elsewhere);

// Where a process of a job on several hosts connects to the first host, `name`. That is usually `name`
// itself. Where /etc/hosts has a loopback address for it, it is this very host, which listens at `interface`.
std::string leader_to_join(const std::optional<std::string>& interface, const std::string& name);

}  // namespace dtrain
