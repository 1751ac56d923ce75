#include "launch/identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

constexpr int64_t kMostRestarts = 1'000'000;
constexpr size_t kShortestToken = 16;  // characters; someone who records a handshake can try guesses offline
constexpr size_t kLongestToken = 4096;

[[noreturn]] void fail_missing(const char* name) {
  throw Error(
      ExitCode::kUsage,
      "the environment has RANK or WORLD_SIZE but no {}; a launcher sets RANK, WORLD_SIZE, LOCAL_RANK, "
      "LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT together (unset all of them to start alone)",
      name);
}

int required_number(const char* name, int64_t lowest, int64_t highest) {
  const auto number = environment_number(name, lowest, highest);
  if (!number) fail_missing(name);
  return static_cast<int>(*number);
}

void read_master(Identity& identity) {
  const auto master = environment_host("MASTER_ADDR");
  if (!master) fail_missing("MASTER_ADDR");
  identity.master_address = *master;
  identity.master_port = static_cast<uint16_t>(required_number("MASTER_PORT", 1, 65535));
}

std::string read_private_file(const std::string& path) {
  struct stat status {};
  const std::string name = printable(path, 200);
  if (::stat(path.c_str(), &status) == 0) {
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      throw Error(ExitCode::kUsage, "the job token's file {} belongs to another user", name);
    if ((status.st_mode & 077) != 0)
      throw Error(ExitCode::kUsage, "the job token's file {} can be read or changed by others: chmod 600 {}",
                  name, name);
  }
  return read_file(path, kLongestToken, ExitCode::kUsage);
}

}  // namespace

void check_below(const char* part_name, int64_t part, const char* whole_name, int64_t whole) {
  if (part < whole) return;
  throw Error(ExitCode::kUsage, "the environment has {}={} but {}={}; ranks count from 0 to {}", part_name,
              part, whole_name, whole, whole - 1);
}

std::optional<std::string> environment_host(const char* name) {
  const auto host = environment_text(name);
  if (host && !is_host(*host)) {
    throw Error(ExitCode::kUsage, "the environment has {}={}, which is not a host's name or address", name,
                printable(*host, 80));
  }
  return host;
}

std::optional<Identity> identity_from_environment() {
  if (!environment_text("RANK") && !environment_text("WORLD_SIZE")) return std::nullopt;
  Identity identity;
  identity.world_size = required_number("WORLD_SIZE", 1, kMaxWorldSize);
  identity.rank = required_number("RANK", 0, kMaxWorldSize - 1);
  // What starts the pods of a job, such as Kubeflow's PyTorchJob, counts pods, not the processes inside them.
  const bool is_pod = environment_text("KUBERNETES_SERVICE_HOST") && !environment_text("LOCAL_RANK") &&
                      !environment_text("LOCAL_WORLD_SIZE");
  if (!is_pod) {
    identity.local_world_size = required_number("LOCAL_WORLD_SIZE", 1, kMaxWorldSize);
    identity.local_rank = required_number("LOCAL_RANK", 0, kMaxWorldSize - 1);
  }
  check_below("RANK", identity.rank, "WORLD_SIZE", identity.world_size);
  check_below("LOCAL_RANK", identity.local_rank, "LOCAL_WORLD_SIZE", identity.local_world_size);
  if (identity.local_world_size > identity.world_size) {
    throw Error(ExitCode::kUsage,
                "the environment has LOCAL_WORLD_SIZE={} but WORLD_SIZE={}; one host cannot have more "
                "replicas than the job",
                identity.local_world_size, identity.world_size);
  }
  const bool is_supervised = environment_text("DTRAIN_REPORT_FD").has_value();
  if (is_supervised) identity.local_store = environment_text("DTRAIN_STORE").value_or("");
  if (identity.local_store.empty()) read_master(identity);

  identity.agent_store = environment_text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (is_supervised) {
    identity.source = "dtrain";
    identity.own_address = environment_host("DTRAIN_ADDRESS").value_or("127.0.0.1");
    if (const auto members = environment_text("DTRAIN_MEMBERS")) identity.members = split(*members, ',');
    identity.host =
        static_cast<int>(environment_number("DTRAIN_HOST_INDEX", 0, kMaxWorldSize - 1).value_or(0));
    identity.hosts = static_cast<int>(environment_number("DTRAIN_HOSTS", 1, kMaxWorldSize).value_or(1));
    check_below("DTRAIN_HOST_INDEX", identity.host, "DTRAIN_HOSTS", identity.hosts);
    identity.restart = static_cast<int>(environment_number("DTRAIN_RESTART", 0, kMostRestarts).value_or(0));
  } else if (is_pod) {
    identity.source = "Kubernetes";
  } else {
    identity.source = environment_text("TORCHELASTIC_RUN_ID") ? "torchrun" : "environment";
  }
  return identity;
}

Identity local_identity(int64_t rank, int64_t replicas, const std::string& local_store) {
  Identity identity;
  identity.rank = identity.local_rank = static_cast<int>(rank);
  identity.world_size = identity.local_world_size = static_cast<int>(replicas);
  identity.local_store = local_store;
  return identity;
}

std::map<std::string, std::string> replica_environment(const Identity& identity, int64_t threads) {
  std::map<std::string, std::string> variables = {
      {"RANK", std::to_string(identity.rank)},
      {"LOCAL_RANK", std::to_string(identity.local_rank)},
      {"WORLD_SIZE", std::to_string(identity.world_size)},
      {"LOCAL_WORLD_SIZE", std::to_string(identity.local_world_size)},
      {"DTRAIN_STORE", identity.local_store},
      {"DTRAIN_ADDRESS", identity.own_address},
      {"DTRAIN_MEMBERS", join(identity.members, ",")},
      {"DTRAIN_HOST_INDEX", std::to_string(identity.host)},
      {"DTRAIN_HOSTS", std::to_string(identity.hosts)},
      {"DTRAIN_RESTART", std::to_string(identity.restart)},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},  // our supervisor serves the store
      {"OMP_NUM_THREADS", std::to_string(threads)}};
  // OpenMP's threads, which compute what LibTorch computes, would check 300,000 times while they wait. On
  // cores with other work to do, this uses up their share of the time before there is something to compute;
  // and the threads of our own loops (parallel/parallel_blocks.cpp) use the same cores.
  if (!environment_text("OMP_WAIT_POLICY") && !environment_text("GOMP_SPINCOUNT"))
    variables["GOMP_SPINCOUNT"] = "0";
  if (identity.local_store.empty()) {
    variables["MASTER_ADDR"] = identity.master_address;
    variables["MASTER_PORT"] = std::to_string(identity.master_port);
  }
  return variables;
}

std::string job_token() {
  // An empty one counts: whatever should have filled it has failed, and without a token anybody may join.
  const char* const text = std::getenv("DTRAIN_JOB_TOKEN");
  const auto file = environment_text("DTRAIN_JOB_TOKEN_FILE");
  if (text && file)
    throw Error(ExitCode::kUsage,
                "both DTRAIN_JOB_TOKEN and DTRAIN_JOB_TOKEN_FILE are set; unset one of them");
  if (!text && !file) return "";
  const char* const source = text ? "DTRAIN_JOB_TOKEN" : "the file of DTRAIN_JOB_TOKEN_FILE";
  const std::string token = trimmed(text ? text : read_private_file(*file));
  if (token.size() < kShortestToken || token.size() > kLongestToken)
    throw Error(ExitCode::kUsage,
                "{} holds a job token of {} characters, which is not {} to {}; make one with: head -c 32 "
                "/dev/urandom | base64",
                source, token.size(), kShortestToken, kLongestToken);
  return token;
}

Role role_of(int64_t rank, int64_t workers, int64_t servers) {
  if (servers == 0) return {false, rank, fmt::format("rank {}", rank)};
  if (rank < workers) return {false, rank, fmt::format("worker {}", rank)};
  return {true, rank - workers, fmt::format("server {}", rank - workers)};
}

std::string rank_range(int64_t first, int64_t count) {
  return count == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, first + count - 1);
}

std::string names_of_ranks(int64_t first, int64_t count, int64_t workers, int64_t servers) {
  if (servers == 0) return rank_range(first, count);
  std::vector<std::string> names;
  for (int64_t rank = first; rank < first + count; ++rank)
    names.push_back(role_of(rank, workers, servers).name);
  return join(names);
}

}  // namespace dtrain
