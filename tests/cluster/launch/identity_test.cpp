#include "launch/identity.h"

#include "catch.h"
#include "core/error.h"
#include "processes/launch_helpers.h"

namespace dtrain {
namespace {

const Variables kGood = {{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "node-1.cluster"},
                         {"MASTER_PORT", "29500"}};

Variables with(const std::string& name, const std::string& value) {
  Variables variables = kGood;
  variables[name] = value;
  return variables;
}

// The message of the refusal of these variables.
std::string identity_refusal(const Variables& variables) {
  const LauncherEnvironment environment(variables);
  try {
    identity_from_environment();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST_CASE("without a launcher there is no identity") {
  const LauncherEnvironment environment(Variables{{"MASTER_PORT", "nonsense"}, {"LOCAL_RANK", "7"}});
  CHECK_FALSE(identity_from_environment().has_value());
}

TEST_CASE("an identity is read whole") {
  const LauncherEnvironment environment(kGood);
  const auto identity = identity_from_environment();
  REQUIRE(identity);
  CHECK(identity->rank == 2);
  CHECK(identity->world_size == 4);
  CHECK(identity->local_rank == 0);
  CHECK(identity->local_world_size == 2);
  CHECK(identity->master_address == "node-1.cluster");
  CHECK(identity->master_port == 29500);
  CHECK(identity->source == "environment");
  CHECK_FALSE(identity->agent_store);
  CHECK(identity->own_address == "127.0.0.1");
  CHECK(identity->members.empty());
}

TEST_CASE("what a supervisor tells its replica is what the replica reads") {
  Identity told;
  told.rank = 5;
  told.world_size = 6;
  told.local_rank = 1;
  told.local_world_size = 2;
  told.master_address = "10.1.0.1";
  told.master_port = 4711;
  told.own_address = "10.1.0.3";
  told.members = {"10.1.0.1", "10.1.0.2", "fe80::3"};
  told.host = 2;
  told.hosts = 3;
  auto variables = replica_environment(told, 2);
  variables["DTRAIN_REPORT_FD"] = "3";
  const LauncherEnvironment environment(variables);
  const Identity read = identity_from_environment().value();
  CHECK(read.rank == 5);
  CHECK(read.local_rank == 1);
  CHECK(read.world_size == 6);
  CHECK(read.local_world_size == 2);
  CHECK(read.master_address == "10.1.0.1");
  CHECK(read.master_port == 4711);
  CHECK(read.own_address == "10.1.0.3");
  CHECK(read.members == told.members);
  CHECK(read.host == 2);
  CHECK(read.hosts == 3);
  CHECK(read.agent_store);
  CHECK(read.spans_hosts());
  CHECK(read.source == "dtrain");
}

TEST_CASE("replicas of one host are told the name of a store, and no address") {
  auto variables = replica_environment(local_identity(1, 2, "0000f"), 1);
  CHECK_FALSE(variables.contains("MASTER_ADDR"));
  variables["DTRAIN_REPORT_FD"] = "3";
  const LauncherEnvironment environment(variables);
  const Identity read = identity_from_environment().value();
  CHECK(read.local_store == "0000f");
  CHECK(read.rank == 1);
  CHECK_FALSE(read.spans_hosts());
}

TEST_CASE("computing threads of a replica do not spin, unless the user wants them to") {
  const auto policy_of = [](const Variables& variables) {
    const LauncherEnvironment environment(variables);
    const auto told = replica_environment(local_identity(0, 2, "0000f"), 4);
    CHECK(told.at("OMP_NUM_THREADS") == "4");
    return told.count("GOMP_SPINCOUNT") == 1 ? told.at("GOMP_SPINCOUNT") : "the user's";
  };
  CHECK(policy_of({}) == "0");
  CHECK(policy_of({{"OMP_WAIT_POLICY", "active"}}) == "the user's");
  CHECK(policy_of({{"GOMP_SPINCOUNT", "5000"}}) == "the user's");
}

TEST_CASE("who set the environment decides who serves the store") {
  Variables variables = with("RANK", "0");
  const auto identity_of = [&] {
    const LauncherEnvironment environment(variables);
    return identity_from_environment().value();
  };
  CHECK(identity_of().source == "environment");
  CHECK_FALSE(identity_of().agent_store);
  variables["TORCHELASTIC_RUN_ID"] = "none";
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  CHECK(identity_of().source == "torchrun");
  CHECK_FALSE(identity_of().agent_store);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  CHECK(identity_of().agent_store);
  variables["DTRAIN_REPORT_FD"] = "3";
  CHECK(identity_of().source == "dtrain");
}

TEST_CASE("a missing variable is named") {
  for (const auto& [name, value] : kGood) {
    Variables variables = kGood;
    variables.erase(name);
    CHECK_THAT(identity_refusal(variables), ContainsSubstring("no " + name + ";"));
  }
}

TEST_CASE("a pod of a PyTorchJob is a host with one process") {
  Variables variables = {{"RANK", "1"},
                         {"WORLD_SIZE", "3"},
                         {"MASTER_PORT", "23456"},
                         {"MASTER_ADDR", "mnist-master-0"},
                         {"PYTHONUNBUFFERED", "1"},
                         {"PET_NNODES", "3"},
                         {"PET_NODE_RANK", "1"},
                         {"PET_NPROC_PER_NODE", "1"},
                         {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}};
  {
    const LauncherEnvironment environment(variables);
    const auto identity = identity_from_environment();
    REQUIRE(identity);
    CHECK(identity->source == "Kubernetes");
    CHECK(identity->rank == 1);
    CHECK(identity->world_size == 3);
    CHECK(identity->local_rank == 0);
    CHECK(identity->local_world_size == 1);
    CHECK(identity->spans_hosts());
    CHECK(identity->master_address == "mnist-master-0");
    CHECK(identity->master_port == 23456);
  }
  variables["LOCAL_RANK"] = "0";  // torchrun in a pod tells both, or something is wrong
  CHECK_THAT(identity_refusal(variables), ContainsSubstring("no LOCAL_WORLD_SIZE;"));
  variables.erase("LOCAL_RANK");
  variables.erase("KUBERNETES_SERVICE_HOST");
  CHECK_THAT(identity_refusal(variables), ContainsSubstring("no LOCAL_WORLD_SIZE;"));
}

TEST_CASE("a malformed or contradicting variable is named with its value") {
  const auto bad = GENERATE(table<std::string, std::string>({
      {"RANK", "abc"},
      {"RANK", "-1"},
      {"RANK", "4"},
      {"RANK", " 1"},
      {"RANK", "1 "},
      {"RANK", "+1"},
      {"RANK", "1.0"},
      {"RANK", "0x1"},
      {"RANK", "99999999999999999999"},
      {"WORLD_SIZE", "0"},
      {"WORLD_SIZE", "1e9"},
      {"WORLD_SIZE", "1000000000"},
      {"WORLD_SIZE", "-4"},
      {"LOCAL_RANK", "2"},
      {"LOCAL_RANK", "-1"},
      {"LOCAL_WORLD_SIZE", "0"},
      {"LOCAL_WORLD_SIZE", "5"},
      {"MASTER_PORT", "0"},
      {"MASTER_PORT", "70000"},
      {"MASTER_PORT", "65536"},
      {"MASTER_PORT", "http"},
      {"MASTER_ADDR", "-oProxyCommand=x"},
      {"MASTER_ADDR", "a b"},
      {"MASTER_ADDR", "a/b"},
      {"MASTER_ADDR", "$(id)"},
      {"MASTER_ADDR", ":x"},
      {"MASTER_ADDR", "fe80::1%eth0"},
      {"MASTER_ADDR", "h\xc3\xb6st"},
  }));
  CHECK_THAT(identity_refusal(with(std::get<0>(bad), std::get<1>(bad))),
             ContainsSubstring(std::get<0>(bad) + "=" + std::get<1>(bad)));
}

TEST_CASE("an empty variable is none") {
  for (const std::string name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT", "MASTER_ADDR"})
    CHECK_THAT(identity_refusal(with(name, "")), ContainsSubstring("but no " + name + ";"));
  const LauncherEnvironment environment({{"RANK", ""}, {"WORLD_SIZE", ""}});
  CHECK_FALSE(identity_from_environment());
}

TEST_CASE("a hostile address is shown without its control characters and cut") {
  CHECK_THAT(identity_refusal(with("MASTER_ADDR", "\x1b[2Jx")), ContainsSubstring("\\x1b[2Jx"));
  CHECK(identity_refusal(with("MASTER_ADDR", std::string(100000, 'a'))).size() < 300);
  CHECK(identity_refusal(with("RANK", std::string(100000, '1'))).size() < 300);
}

TEST_CASE("names and addresses of both families are hosts") {
  const std::string address =
      GENERATE("localhost", "127.0.0.1", "::1", "::", "fe80::1", "2001:db8::2", "Node-3.example.org");
  CHECK(identity_refusal(with("MASTER_ADDR", address)) == "accepted");
}

}  // namespace
}  // namespace dtrain
