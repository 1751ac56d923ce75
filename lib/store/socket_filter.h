// Who may connect to sockets that libraries open, which ask nobody who he is.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dtrain {

// From now on only hosts with one of these addresses (IPv4 or IPv6, as numbers) can connect to the listening
// `socket`: the kernel drops the packets of others, to whom the port looks like one of a host that is off
// (socket(7), SO_ATTACH_FILTER). Replaces an earlier list. Throws Error(kUsage) for an address that is none
// or for more than fit (some 2000), Error(kBug) when the kernel refuses.
void admit_only(int socket, const std::vector<std::string>& addresses);

// The TCP sockets of this process that were not open before `body` ran: those that it opened, and perhaps
// some of another thread. Throws Error(kUsage) where /proc is not mounted, which lists them.
std::vector<int> sockets_opened_by(const std::function<void()>& body);

bool is_listening(int socket);

}  // namespace dtrain
