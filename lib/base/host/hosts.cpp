#include "host/hosts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMaxHostLength = 253;  // the longest name in the DNS (RFC 1035)

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
         c == '-' || c == '_';
}

std::string address_text(const sockaddr* address) {
  const socklen_t length = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  char text[NI_MAXHOST] = "";
  getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

struct Interface {
  std::string name;
  std::string address;
};

std::vector<Interface> interfaces() {
  ifaddrs* all = nullptr;
  std::vector<Interface> result;
  if (getifaddrs(&all) != 0) return result;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(all, freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {  // IPv4 first
    for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family && (entry->ifa_flags & IFF_UP))
        result.push_back({entry->ifa_name, address_text(entry->ifa_addr)});
    }
  }
  return result;
}

std::string up_to_dot(const std::string& name) { return name.substr(0, name.find('.')); }

// Whether `host` resolves to an address of this host. A name that cannot be resolved does not.
bool resolves_here(const std::string& host, const std::vector<std::string>& own) {
  try {
    const std::vector<std::string> addresses = resolve(host);
    return std::ranges::any_of(addresses, [&](const std::string& address) { return contains(own, address); });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_host(const std::string& text) {
  if (text.empty() || text.size() > kMaxHostLength) return false;
  in6_addr address;
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1) return true;
  constexpr std::string_view kNotFirst = ".:-_";
  return kNotFirst.find(text[0]) == std::string_view::npos && std::ranges::all_of(text, is_host_character);
}

std::string machine_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  for (const Interface& interface : interfaces()) addresses.push_back(interface.address);
  return addresses;
}

bool is_loopback(const std::string& address) { return address.rfind("127.", 0) == 0 || address == "::1"; }

std::vector<std::string> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failure != 0)
    throw Error(ExitCode::kPeerLost, "host '{}': {}", printable(host, 80), gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const std::string text = address_text(entry->ai_addr);
    if (!contains(addresses, text)) addresses.push_back(text);
  }
  return addresses;
}

std::string interface_of_address(const std::string& address) {
  for (const Interface& interface : interfaces()) {
    if (interface.address == address) return interface.name;
  }
  return "";
}

std::string address_of_interface(const std::string& name) {
  std::vector<std::string> known;
  for (const Interface& interface : interfaces()) {
    if (interface.name == name || interface.address == name) return interface.address;
    known.push_back(fmt::format("{} ({})", interface.name, interface.address));
  }
  throw Error(ExitCode::kUsage, "network.interface: this host has no '{}'; it has {}", printable(name, 80),
              join(known));
}

int own_index(const std::vector<std::string>& hosts, const std::string& name,
              const std::vector<std::string>& own) {
  std::vector<size_t> found;
  // Each test looks at the hosts that those before found, or at all hosts if they found none.
  const auto narrow_down = [&](const auto& is_own) {
    if (found.size() == 1) return;
    std::vector<size_t> left;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if ((found.empty() || std::ranges::count(found, i) != 0) && is_own(hosts[i])) left.push_back(i);
    }
    if (!left.empty()) found = left;
  };
  narrow_down([&](const std::string& host) { return host == name; });
  narrow_down([&](const std::string& host) { return up_to_dot(host) == up_to_dot(name); });
  narrow_down([&](const std::string& host) { return resolves_here(host, own); });
  if (found.size() == 1) return static_cast<int>(found.front());
  throw Error(ExitCode::kUsage,
              "this host, '{}' with the addresses {}, is {} of hosts: {}; run `dtrain run` on each of them "
              "(scripts/launch_ssh does), or say which one this is with DTRAIN_HOST_INDEX=0..{}",
              name, join(own), found.empty() ? "none" : "more than one", join(hosts), hosts.size() - 1);
}

}  // namespace dtrain
