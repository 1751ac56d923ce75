#include "launch/identity.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "launch/environment.h"

namespace dtrain {
namespace {

constexpr int64_t kMaxWorldSize = 65536;
constexpr size_t kMaxHostLength = 253;  // of a name in the DNS, RFC 1035

[[noreturn]] void fail_missing(const char* name) {
  throw Error(
      ExitCode::kUsage,
      fmt::format(
          "the environment has RANK or WORLD_SIZE but no {}; a launcher sets RANK, WORLD_SIZE, LOCAL_RANK, "
          "LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT together (unset all of them to start alone)",
          name));
}

int required_number(const char* name, int64_t lowest, int64_t highest) {
  const auto number = environment_number(name, lowest, highest);
  if (!number) fail_missing(name);
  return static_cast<int>(*number);
}

// `part` counts from 0 in a whole of `whole`.
void check_below(const char* part_name, int part, const char* whole_name, int whole) {
  if (part < whole) return;
  throw Error(ExitCode::kUsage, fmt::format("the environment has {}={} but {}={}; ranks count from 0 to {}",
                                            part_name, part, whole_name, whole, whole - 1));
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
         c == '-';
}

// ^[A-Za-z0-9][A-Za-z0-9.:-]*$, or an IPv6 address (which may start with a colon).
bool is_host(const std::string& text) {
  if (text.empty() || text.size() > kMaxHostLength) return false;
  in6_addr address;
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1) return true;
  return text[0] != '.' && text[0] != ':' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), is_host_character);
}

std::string required_host(const char* name) {
  const auto host = environment_text(name);
  if (!host) fail_missing(name);
  if (!is_host(*host)) {
    throw Error(ExitCode::kUsage,
                fmt::format("the environment has {}={}, which is not a host's name or address", name,
                            printable(*host, 80)));
  }
  return *host;
}

}  // namespace

std::optional<Identity> identity_from_environment() {
  if (!environment_text("RANK") && !environment_text("WORLD_SIZE")) return std::nullopt;
  Identity identity;
  identity.world_size = required_number("WORLD_SIZE", 1, kMaxWorldSize);
  identity.rank = required_number("RANK", 0, kMaxWorldSize - 1);
  identity.local_world_size = required_number("LOCAL_WORLD_SIZE", 1, kMaxWorldSize);
  identity.local_rank = required_number("LOCAL_RANK", 0, kMaxWorldSize - 1);
  check_below("RANK", identity.rank, "WORLD_SIZE", identity.world_size);
  check_below("LOCAL_RANK", identity.local_rank, "LOCAL_WORLD_SIZE", identity.local_world_size);
  if (identity.local_world_size > identity.world_size) {
    throw Error(ExitCode::kUsage,
                fmt::format("the environment has LOCAL_WORLD_SIZE={} but WORLD_SIZE={}; one host cannot have "
                            "more replicas than the job",
                            identity.local_world_size, identity.world_size));
  }
  identity.master_address = required_host("MASTER_ADDR");
  identity.master_port = static_cast<uint16_t>(required_number("MASTER_PORT", 1, 65535));

  if (environment_text("DTRAIN_REPORT_FD")) {
    identity.source = "dtrain";  // the supervisor serves the store
  } else {
    identity.source = environment_text("TORCHELASTIC_RUN_ID") ? "torchrun" : "environment";
    identity.hosts_store = identity.rank == 0 && environment_text("TORCHELASTIC_USE_AGENT_STORE") != "True";
  }
  return identity;
}

std::map<std::string, std::string> replica_environment(int64_t rank, int64_t replicas, uint16_t store_port,
                                                       int64_t threads) {
  return {{"RANK", std::to_string(rank)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(replicas)},
          {"LOCAL_WORLD_SIZE", std::to_string(replicas)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(store_port)},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},  // the store is the supervisor's
          {"OMP_NUM_THREADS", std::to_string(threads)}};
}

}  // namespace dtrain
