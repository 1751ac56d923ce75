#include "store/socket_filter.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

// Offsets from the network header: the version, and the source addresses of IPv4 and IPv6 (RFC 791, 8200).
constexpr uint32_t kVersion = static_cast<uint32_t>(SKF_NET_OFF);
constexpr uint32_t kSource4 = static_cast<uint32_t>(SKF_NET_OFF) + 12;
constexpr uint32_t kSource6 = static_cast<uint32_t>(SKF_NET_OFF) + 8;

constexpr uint32_t kWholePacket = 0xffffffff;

// Sorts an address into those of IPv4 and of IPv6, as numbers.
void sort_in(const std::string& address, std::vector<uint32_t>& four,
             std::vector<std::array<uint32_t, 4>>& six) {
  in_addr number4{};
  in6_addr number6{};
  if (inet_pton(AF_INET, address.c_str(), &number4) == 1) {
    four.push_back(ntohl(number4.s_addr));
  } else if (inet_pton(AF_INET6, address.c_str(), &number6) == 1) {
    std::array<uint32_t, 4> words;
    std::memcpy(words.data(), &number6, sizeof number6);
    for (uint32_t& word : words) word = ntohl(word);
    six.push_back(words);
  } else {
    throw Error(ExitCode::kUsage, "'{}' is no host's address", printable(address, 80));
  }
}

// A classic BPF (Berkeley packet filter) program, which returns how many bytes of a packet to let through.
std::vector<sock_filter> filter_program(const std::vector<std::string>& addresses) {
  std::vector<sock_filter> program;
  const auto add = [&](int code, uint32_t k, uint8_t if_true = 0, uint8_t if_false = 0) {
    program.push_back({static_cast<uint16_t>(code), if_true, if_false, k});
  };
  std::vector<uint32_t> four;
  std::vector<std::array<uint32_t, 4>> six;
  for (const std::string& address : addresses) sort_in(address, four, six);
  add(BPF_LD | BPF_B | BPF_ABS, kVersion);
  add(BPF_ALU | BPF_RSH | BPF_K, 4);
  add(BPF_JMP | BPF_JEQ | BPF_K, 4, 1, 0);
  add(BPF_JMP | BPF_JA, static_cast<uint32_t>(2 + 2 * four.size()));  // skip the part for IPv4
  add(BPF_LD | BPF_W | BPF_ABS, kSource4);
  for (const uint32_t address : four) {
    add(BPF_JMP | BPF_JEQ | BPF_K, address, 0, 1);
    add(BPF_RET | BPF_K, kWholePacket);
  }
  add(BPF_RET | BPF_K, 0);
  for (const auto& address : six) {
    for (uint32_t word = 0; word < 4; ++word) {
      add(BPF_LD | BPF_W | BPF_ABS, kSource6 + 4 * word);
      // On a mismatch, jump to the next address.
      add(BPF_JMP | BPF_JEQ | BPF_K, address[word], 0, static_cast<uint8_t>(7 - 2 * word));
    }
    add(BPF_RET | BPF_K, kWholePacket);
  }
  add(BPF_RET | BPF_K, 0);
  return program;
}

// The descriptors of this process that are TCP sockets.
std::vector<int> tcp_sockets() {
  const char* const descriptors = "/proc/self/fd";
  std::vector<int> sockets;
  std::error_code error;
  const std::filesystem::directory_iterator entries(descriptors, error);
  if (error) {  // sockets that are not found would stay open to anyone
    throw Error(ExitCode::kUsage,
                "{}: {}: dtrain looks there for sockets that it has to guard; mount /proc (mount -t proc "
                "proc /proc), or give the container access to it",
                descriptors, error.message());
  }
  for (const auto& entry : entries) {
    const int descriptor = std::stoi(entry.path().filename().string());
    int protocol = 0;
    socklen_t length = sizeof protocol;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP)
      sockets.push_back(descriptor);
  }
  return sockets;
}

}  // namespace

void admit_only(int socket, const std::vector<std::string>& addresses) {
  std::vector<sock_filter> instructions = filter_program(addresses);
  if (instructions.size() > BPF_MAXINSNS)
    throw Error(ExitCode::kUsage,
                "the job's hosts have {} addresses, more than a socket's filter holds; name the one "
                "interface that each uses with network.interface",
                addresses.size());
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw Error(ExitCode::kBug, "the kernel accepts no filter for a socket: {}", std::strerror(errno));
}

std::vector<int> sockets_opened_by(const std::function<void()>& body) {
  const std::vector<int> before = tcp_sockets();
  body();
  std::vector<int> opened;
  for (const int socket : tcp_sockets()) {
    if (std::ranges::find(before, socket) == before.end()) opened.push_back(socket);
  }
  return opened;
}

bool is_listening(int socket) {
  int listening = 0;
  socklen_t length = sizeof listening;
  return ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0;
}

}  // namespace dtrain
