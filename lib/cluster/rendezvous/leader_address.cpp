#include "rendezvous/leader_address.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "host/hosts.h"
#include "host/machine.h"

namespace dtrain {

std::string leader_address(const std::optional<std::string>& interface, const std::string& name,
                           bool elsewhere) {
  if (interface) return address_of_interface(*interface);
  const std::vector<std::string> own = own_addresses();
  std::string found;
  for (const std::string& address : resolve(name)) {
    const bool is_ours = contains(own, address) || is_loopback(address);
    if (is_ours && (found.empty() || is_loopback(found))) found = address;
  }
  if (found.empty())
    throw Error(ExitCode::kUsage,
                "'{}', where the other replicas look for the first, is {}, which is no address of this host "
                "({}, {}); start rank 0 there, or name another host first",
                name, join(resolve(name)), own_host_name(), join(own));
  if (elsewhere && is_loopback(found))
    throw Error(ExitCode::kUsage,
                "'{}' is {} on this host (see /etc/hosts), which other hosts cannot reach; name its address "
                "instead, or set network.interface",
                name, found);
  return found;
}

std::string leader_to_join(const std::optional<std::string>& interface, const std::string& name) {
  if (!interface || is_loopback(name)) return name;
  std::vector<std::string> addresses;
  try {
    addresses = resolve(name);
  } catch (const Error&) {  // not yet: who connects there tries again
  }
  return std::ranges::any_of(addresses, is_loopback) ? address_of_interface(*interface) : name;
}

}  // namespace dtrain
