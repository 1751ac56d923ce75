// Names and addresses of hosts: which texts are valid, and which of them mean this host.
#pragma once

#include <string>
#include <vector>

namespace dtrain {

// Whether the text matches ^[A-Za-z0-9][A-Za-z0-9._:-]*$ with at most 253 characters, or is an IPv6 address
// (which may start with a colon).
bool is_host(const std::string& text);

// The id of the running kernel, chosen at boot, the same in all containers of a machine; "" if unknown.
std::string machine_id();

// The addresses of this host's interfaces, including loopback, as text.
std::vector<std::string> own_addresses();

bool is_loopback(const std::string& address);

// The addresses that `host` resolves to, in the resolver's order, without duplicates. Throws an
// Error(kPeerLost) with the resolver's message if there is none.
std::vector<std::string> resolve(const std::string& host);

// The name of the interface of this host with this address ("eth0"); empty if there is none.
std::string interface_of_address(const std::string& address);

// The address of the interface `name` ("eth0"), preferably IPv4. An address of this host is also accepted and
// returned unchanged. If there is no such interface, throws an Error(kUsage) that lists the interfaces.
std::string address_of_interface(const std::string& name);

// The index in `hosts` of the host with this name and these addresses, found by its name (whole, or up to the
// first dot), otherwise by its addresses. These also decide between names that differ only after the first
// dot. If no entry matches, or several do, throws an Error(kUsage) that names this host and the list.
int own_index(const std::vector<std::string>& hosts, const std::string& name,
              const std::vector<std::string>& own);

}  // namespace dtrain
