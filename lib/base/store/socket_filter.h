// Restricts which hosts may connect to sockets that libraries open without authentication.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dtrain {

// From now on, only hosts with one of these addresses (numeric IPv4 or IPv6) can connect to the listening
// `socket`. The kernel drops packets from others, to whom the host looks as if it were off (socket(7),
// SO_ATTACH_FILTER). Replaces an earlier list. Throws Error(kUsage) if an address is invalid or there are too
// many (more than about 2000), and Error(kBug) if the kernel refuses.
void admit_only(int socket, const std::vector<std::string>& addresses);

// The TCP sockets that were opened in this process while `body` ran: those that it opened itself, and perhaps
// some that another thread opened. Throws Error(kUsage) if /proc, which lists them, is not mounted.
std::vector<int> sockets_opened_by(const std::function<void()>& body);

bool is_listening(int socket);

}  // namespace dtrain
