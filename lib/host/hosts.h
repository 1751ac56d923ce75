// Names and addresses of hosts: which texts are one, which are this host, and lists as Slurm writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

// ^[A-Za-z0-9][A-Za-z0-9.:-]*$ of at most 253 characters, or an IPv6 address (which may start with a colon).
bool is_host(const std::string& text);

// The id that the kernel gave itself when it started, the same in all of its containers; "" where there is
// none.
std::string machine_id();

// The addresses of this host's interfaces, loopback's included, as text.
std::vector<std::string> own_addresses();

bool is_loopback(const std::string& address);

// The addresses that `host` resolves to, in the resolver's order and each once. Throws Error(kPeerLost) with
// the resolver's words when there is none.
std::vector<std::string> resolve(const std::string& host);

// The name of the interface of this host that has the address ("eth0"); empty when none has.
std::string interface_of_address(const std::string& address);

// The address of the interface `name` ("eth0", or an address of this host, which is returned as it is); an
// IPv4 one where there is one. Throws Error(kUsage) that lists this host's interfaces when there is none.
std::string address_of_interface(const std::string& name);

// Which of `hosts` this one is, by its name (whole, or up to the first dot), else by its addresses. Throws
// Error(kUsage) that names this host and the list when none is, or more than one.
int own_index(const std::vector<std::string>& hosts);

// "n[01-03,7],m4" -> n01, n02, n03, n7, m4; at most `limit` hosts. Throws Error(kUsage) that names `variable`
// when the text is no such list.
std::vector<std::string> expand_slurm_hosts(const char* variable, const std::string& text, size_t limit);

// "2(x3),1" -> 2, 2, 2, 1; at most `limit` numbers. Throws as above.
std::vector<int64_t> expand_slurm_counts(const char* variable, const std::string& text, size_t limit);

}  // namespace dtrain
