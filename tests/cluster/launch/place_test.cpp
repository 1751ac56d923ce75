#include "launch/place.h"

#include <unistd.h>

#include "catch.h"
#include "core/error.h"
#include "host/hosts.h"
#include "processes/launch_helpers.h"

namespace dtrain {
namespace {

const Variables kTorchrun = {{"RANK", "1"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node-1"},
                             {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "3"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"PMIX_RANK", "3"},
    {"PMIX_NAMESPACE", "1556283393"},
    {"OMPI_MCA_orte_hnp_uri", "1556283392.0;tcp://10.0.0.1,192.0.2.2:43187;tcp6://[fd00::2]:55631"}};
const Variables kHydra = {
    {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}};
const Variables kSlurm = {{"SLURM_STEP_ID", "0"},
                          {"SLURM_JOB_ID", "4242"},
                          {"SLURM_PROCID", "6"},
                          {"SLURM_STEP_NUM_TASKS", "7"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                          {"SLURM_STEP_NODELIST", "gpu[07-09],login1"}};

Variables operator+(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

Variables tf_config(const std::string& text) { return {{"TF_CONFIG", text}}; }
const std::string kTwoWorkers =
    R"({"cluster": {"worker": ["a:2222", "b:2223"]}, "task": {"type": "worker", "index": 1}})";

Place place_in(const Variables& variables, const std::vector<std::string>& hosts = {},
               std::optional<int64_t> port = std::nullopt) {
  const LauncherEnvironment environment(variables);
  return find_place(hosts, port);
}

std::string refusal(const Variables& variables, const std::vector<std::string>& hosts = {},
                    std::optional<int64_t> port = std::nullopt) {
  try {
    place_in(variables, hosts, port);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST_CASE("without a launcher and without hosts this process is alone") {
  const Place place = place_in({});
  CHECK_FALSE(place.replica);
  CHECK_FALSE(place.host);
  CHECK(place.source.empty());
}

TEST_CASE("Open MPI's variables make a replica, and mpirun's host the master") {
  const Place place = place_in(kOpenMpi);
  REQUIRE(place.replica);
  CHECK(place.source == "Open MPI");
  CHECK(place.replica->rank == 3);
  CHECK(place.replica->world_size == 4);
  CHECK(place.replica->local_rank == 1);
  CHECK(place.replica->local_world_size == 2);
  CHECK(place.replica->master_address == "10.0.0.1");
  CHECK(place.replica->master_port >= 20000);
  CHECK(place.replica->master_port < 32000);
  CHECK(place_in(kOpenMpi + Variables{{"OMPI_COMM_WORLD_RANK", "0"}}).replica->master_port ==
        place.replica->master_port);
  CHECK(place_in(kOpenMpi + Variables{{"PMIX_NAMESPACE", "1556283394"}}).replica->master_port !=
        place.replica->master_port);

  const Variables given = {{"MASTER_ADDR", "node-1"}, {"MASTER_PORT", "31000"}};
  CHECK(place_in(kOpenMpi + given).replica->master_address == "node-1");
  CHECK(place_in(kOpenMpi + given).replica->master_port == 31000);
  CHECK(place_in(kOpenMpi + given, {}, 31001).replica->master_port == 31001);
  CHECK(place_in(kOpenMpi + Variables{{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}).replica->master_address ==
        "127.0.0.1");
}

TEST_CASE("several hosts of Open MPI whose master nobody knows") {
  Variables version_5 = kOpenMpi;
  version_5.erase("OMPI_MCA_orte_hnp_uri");
  CHECK_THAT(refusal(version_5), ContainsSubstring("Open MPI started 4 processes on several hosts") &&
                                     ContainsSubstring("-x MASTER_ADDR"));
}

TEST_CASE("what to unset is told, of variables that a launcher left over") {
  const auto advice = [](const Variables& variables) {
    return advice_on_leftovers(*place_in(variables).replica);
  };
  CHECK(advice(kTorchrun) == "if a launcher is not to start the replicas, unset RANK and WORLD_SIZE");
  CHECK(advice(kTorchrun + Variables{{"TORCHELASTIC_RUN_ID", "x"}}) ==
        "if torchrun is not to start the replicas, unset RANK and WORLD_SIZE");
  CHECK(advice(kOpenMpi) ==
        "if Open MPI is not to start the replicas, unset OMPI_COMM_WORLD_RANK and PMIX_RANK");
  CHECK(advice(kHydra) == "if PMI is not to start the replicas, unset PMI_RANK");
  CHECK(advice(kSlurm) == "if Slurm is not to start the replicas, unset SLURM_STEP_ID");
  // And what is told is enough.
  for (const auto& [variables, names] : std::vector<std::pair<Variables, std::vector<std::string>>>{
           {kTorchrun, {"RANK", "WORLD_SIZE"}},
           {kOpenMpi, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}},
           {kHydra, {"PMI_RANK"}},
           {kSlurm, {"SLURM_STEP_ID"}}}) {
    Variables emptied = variables, without = variables;
    for (const std::string& name : names) {
      emptied[name] = "";
      without.erase(name);
    }
    CHECK_FALSE(place_in(emptied).replica);
    CHECK_FALSE(place_in(without).replica);
  }
  CHECK_THAT(refusal(kTorchrun + kOpenMpi),
             ContainsSubstring("unset RANK and WORLD_SIZE, or OMPI_COMM_WORLD_RANK and PMIX_RANK"));
}

TEST_CASE("what starts its own processes wants to be alone") {
  const auto refused = [](const Variables& variables, const std::vector<std::string>& hosts) {
    const LauncherEnvironment environment(variables);
    try {
      require_alone("a sweep", hosts);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({}, {}).empty());
  CHECK(refused({{"RANK", ""}, {"SLURM_STEP_ID", ""}}, {"a"}).empty());
  CHECK(refused(kSlurm, {}) ==
        "a sweep starts its own processes, on this host: run it without Slurm; if Slurm is not to start the "
        "replicas, unset SLURM_STEP_ID");
  CHECK(refused({{"DTRAIN_HOST_INDEX", "1"}}, {"x.invalid", "y.invalid"}) ==
        "a sweep starts its own processes, on this host: run it without hosts");
}

TEST_CASE("Hydra's variables make a replica") {
  const Place place = place_in(kHydra);
  REQUIRE(place.replica);
  CHECK(place.source == "PMI");
  CHECK(place.replica->rank == 2);
  CHECK(place.replica->local_world_size == 3);
  CHECK(place.replica->master_address == "127.0.0.1");
  CHECK_THAT(refusal(kHydra + Variables{{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}}),
             ContainsSubstring("MASTER_ADDR"));
  CHECK_THAT(refusal({{"PMIX_RANK", "0"}}),
             ContainsSubstring("PMIX_RANK") && ContainsSubstring("WORLD_SIZE"));
}

TEST_CASE("a step of Slurm makes a replica, a shell in an allocation does not") {
  const Place place = place_in(kSlurm);
  REQUIRE(place.replica);
  CHECK(place.source == "Slurm");
  CHECK(place.replica->rank == 6);
  CHECK(place.replica->world_size == 7);
  CHECK(place.replica->local_world_size == 1);
  CHECK(place.replica->master_address == "gpu07");
  Variables shell = kSlurm;
  shell.erase("SLURM_STEP_ID");
  CHECK_FALSE(place_in(shell).replica);
}

// What Slurm's plug-ins add to the environment of task 6 of 7.
const Variables kPmi2 = {{"PMI_RANK", "6"}, {"PMI_SIZE", "7"}};
const Variables kPmix = {{"PMIX_RANK", "6"}, {"PMIX_NAMESPACE", "slurm.pmix.4242.0"}};
const Variables kCray = {{"PMI_RANK", "6"}};

TEST_CASE("Slurm's plug-ins for MPI change nothing") {
  const uint16_t port = place_in(kSlurm).replica->master_port;
  for (const Variables& plugin : {kPmi2, kPmix, kCray}) {
    INFO(plugin.begin()->first << ", " << plugin.size() << " variables");
    const Place place = place_in(kSlurm + plugin);
    REQUIRE(place.replica);
    CHECK(place.source == "Slurm");
    CHECK(place.replica->rank == 6);
    CHECK(place.replica->world_size == 7);
    CHECK(place.replica->local_world_size == 1);
    CHECK(place.replica->master_address == "gpu07");
    CHECK(place.replica->master_port == port);
    CHECK_THAT(
        refusal(kSlurm + plugin + kTorchrun),
        ContainsSubstring("is rank 1 of 4") && ContainsSubstring("Slurm says that this is rank 6 of 7"));
    // The advice to unset SLURM_STEP_ID is still enough to start alone.
    CHECK_FALSE(place_in(kSlurm + plugin + Variables{{"SLURM_STEP_ID", ""}}).replica);
    CHECK(place_in(kSlurm + plugin + kHydra).source == "PMI");
    CHECK(place_in(kSlurm + plugin + kOpenMpi).source == "Open MPI");
  }
  // srun without a plug-in, in a shell that srun started with one: PMIX_RANK is the shell's.
  CHECK(place_in(kSlurm + kPmix + Variables{{"PMIX_RANK", "0"}}).replica->rank == 6);
}

TEST_CASE("a launcher within a step of Slurm is not taken for Slurm's plug-in") {
  const Variables first = {{"SLURM_PROCID", "0"}, {"SLURM_NODEID", "0"}, {"SLURM_STEP_NUM_TASKS", "3"}};
  CHECK(place_in(kSlurm + first + kHydra + Variables{{"PMI_RANK", "0"}, {"MPI_LOCALRANKID", "0"}}).source ==
        "PMI");
  for (const Variables& other : {Variables{{"PMI_RANK", "1"}}, Variables{{"PMI_SIZE", "8"}}})
    CHECK_THAT(refusal(kSlurm + kPmi2 + other), ContainsSubstring("no MPI_LOCALRANKID"));
  CHECK_THAT(refusal(kSlurm + kPmix + Variables{{"PMIX_NAMESPACE", "prterun-n1-17@1"}}),
             ContainsSubstring("PMIX_RANK"));
  Variables batch = kSlurm + kPmi2;  // a batch script has SLURM_PROCID, but no step
  batch.erase("SLURM_STEP_ID");
  batch.erase("SLURM_STEP_NUM_TASKS");
  CHECK_THAT(refusal(batch), ContainsSubstring("no MPI_LOCALRANKID"));
}

TEST_CASE("PMIX_RANK is no obstacle where RANK and WORLD_SIZE are set") {
  CHECK(place_in(kTorchrun + Variables{{"PMIX_RANK", "1"}}).source == "environment");
}

TEST_CASE("launchers within launchers: the nearest counts") {
  CHECK(place_in(kOpenMpi + kSlurm).source == "Open MPI");
  CHECK(place_in(kHydra + kSlurm).source == "PMI");
  CHECK(place_in(kTorchrun + kOpenMpi + kSlurm + Variables{{"TORCHELASTIC_RUN_ID", "x"}}).source ==
        "torchrun");
  // Somebody who translates one launcher's variables into the other's.
  CHECK(place_in(kTorchrun + kOpenMpi + Variables{{"OMPI_COMM_WORLD_RANK", "1"}}).source == "environment");
}

TEST_CASE("two sources that contradict each other are both named") {
  CHECK_THAT(refusal(kTorchrun + kOpenMpi),
             ContainsSubstring("RANK, WORLD_SIZE) says that this is rank 1 of 4") &&
                 ContainsSubstring("Open MPI says that this is rank 3 of 4"));
  CHECK_THAT(
      refusal(kSlurm + tf_config(kTwoWorkers)),
      ContainsSubstring("TF_CONFIG is set") && ContainsSubstring("Slurm says that this is rank 6 of 7"));
  CHECK_THAT(refusal(tf_config(kTwoWorkers), {"a", "c"}),
             ContainsSubstring("hosts: a, c") && ContainsSubstring("TF_CONFIG has a, b"));
  CHECK_THAT(refusal(tf_config(kTwoWorkers), {}, 3333),
             ContainsSubstring("network.port: 3333") && ContainsSubstring("2222"));
  CHECK(place_in(tf_config(kTwoWorkers), {"a", "b"}, 2222).source == "TF_CONFIG");
  CHECK_THAT(refusal(kOpenMpi, {"a", "b", "c"}),
             ContainsSubstring("lists 3 hosts (a, b, c)") &&
                 ContainsSubstring("Open MPI started 4 processes, 2 of them on this host, so 2 hosts"));
  CHECK(place_in(kOpenMpi, {"a", "b"}).source == "Open MPI");
  const LauncherEnvironment environment(kOpenMpi);
  CHECK(find_place({"a", "b", "c"}, std::nullopt, /*evenly=*/false).source == "Open MPI");
}

TEST_CASE("a launcher's missing, malformed or impossible number is named") {
  const auto bad = GENERATE(table<std::string, std::string>({{"OMPI_COMM_WORLD_SIZE", "0"},
                                                             {"OMPI_COMM_WORLD_RANK", "4"},
                                                             {"OMPI_COMM_WORLD_RANK", "x"},
                                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "5"},
                                                             {"MASTER_ADDR", "-oProxyCommand=x"},
                                                             {"MASTER_PORT", "0"}}));
  CHECK_THAT(refusal(kOpenMpi + Variables{{std::get<0>(bad), std::get<1>(bad)}}),
             ContainsSubstring(std::get<0>(bad)));
  Variables without = kOpenMpi;
  without.erase("OMPI_COMM_WORLD_SIZE");
  CHECK_THAT(refusal(without), ContainsSubstring("Open MPI") && ContainsSubstring("no OMPI_COMM_WORLD_SIZE"));
  CHECK_THAT(refusal(kSlurm + Variables{{"SLURM_STEP_TASKS_PER_NODE", ""}}),
             ContainsSubstring("has no SLURM_STEP_TASKS_PER_NODE; if it did not, unset SLURM_STEP_ID"));
  CHECK_THAT(refusal(kSlurm + Variables{{"SLURM_STEP_TASKS_PER_NODE", "2(x"}}),
             ContainsSubstring("SLURM_STEP_TASKS_PER_NODE=2(x"));
  CHECK_THAT(refusal(kSlurm + Variables{{"SLURM_NODEID", "4"}}), ContainsSubstring("SLURM_NODEID=4"));
  CHECK_THAT(refusal(kSlurm + Variables{{"SLURM_STEP_NODELIST", "$(id)"}}),
             ContainsSubstring("SLURM_STEP_NODELIST=$(id)"));
}

TEST_CASE("TF_CONFIG makes one of several hosts, the chief first") {
  const Place place = place_in(tf_config(kTwoWorkers));
  REQUIRE(place.host);
  CHECK(place.source == "TF_CONFIG");
  CHECK(place.host->hosts == std::vector<std::string>{"a", "b"});
  CHECK(place.host->index == 1);
  CHECK(place.host->port == 2222);
  const Place chief = place_in(tf_config(
      R"({"cluster": {"worker": ["a:1", "[fe80::1]:2"], "chief": ["c:3"]}, "task": {"type": "worker", "index": "1"}})"));
  CHECK(chief.host->hosts == std::vector<std::string>{"c", "a", "fe80::1"});
  CHECK(chief.host->index == 2);
  CHECK(chief.host->port == 3);
  CHECK_FALSE(place_in(tf_config("")).host);
  CHECK_FALSE(
      place_in(tf_config(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})"))
          .host);
}

TEST_CASE("the servers of TF_CONFIG come last") {
  const auto [type, index, position] = GENERATE(table<std::string, int, int>(
      {{"chief", 0, 0}, {"worker", 0, 1}, {"worker", 1, 2}, {"ps", 0, 3}, {"ps", 1, 4}}));
  const Place place = place_in(tf_config(
      R"({"cluster": {"ps": ["d:1", "a:2"], "worker": ["b:1", "c:1"], "chief": ["a:1"]}, "task": {"type": ")" +
      type + R"(", "index": )" + std::to_string(index) + "}}"));
  REQUIRE(place.host);
  CHECK(place.host->hosts == std::vector<std::string>{"a", "b", "c", "d", "a"});
  CHECK(place.host->servers == 2);
  CHECK(place.host->index == position);
}

TEST_CASE("a TF_CONFIG that makes no sense says why") {
  const auto [text, why] = GENERATE(table<std::string, std::string>({
      {"{", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{}", "no \"cluster\""},
      {R"({"cluster": {}})", "no \"task\""},
      {R"({"cluster": [], "task": {}})", "not JSON objects"},
      {R"({"cluster": {}, "task": {"type": "worker", "index": 0}})", "cluster.worker has 0 entries"},
      {R"({"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}})", "not a list"},
      {R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})", "'a' is not of the form"},
      {R"({"cluster": {"worker": ["a:0"]}, "task": {"type": "worker", "index": 0}})", "'a:0'"},
      {R"({"cluster": {"worker": ["a:99999"]}, "task": {"type": "worker", "index": 0}})", "'a:99999'"},
      {R"({"cluster": {"worker": ["-o x:1"]}, "task": {"type": "worker", "index": 0}})", "'-o x:1'"},
      {R"({"cluster": {"worker": [7]}, "task": {"type": "worker", "index": 0}})", "'7'"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})", "task.index is 1"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})", "task.index is -1"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": null}})",
       "task.index is null"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}})", "cluster.chief has 0"},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})", "evaluator"},
      {R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 1}})",
       "cluster.ps has 1 entries"},
      {R"({"cluster": {"ps": ["b:1"]}, "task": {"type": "ps", "index": 0}})", "neither a chief nor a worker"},
      {R"({"cluster": {"worker": ["a:1"], "x": []}, "task": {"type": "worker", "index": 0}})",
       "type of task 'x'"},
      {R"({"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}})", "more than one"},
  }));
  INFO(text);
  CHECK_THAT(refusal(tf_config(text)), ContainsSubstring("TF_CONFIG: ") && ContainsSubstring(why));
}

TEST_CASE("which of the spec's hosts this is") {
  char name[256] = "";
  REQUIRE(::gethostname(name, sizeof name) == 0);
  const std::string own = name;
  const Place by_name = place_in({}, {"elsewhere.invalid", own});
  REQUIRE(by_name.host);
  CHECK(by_name.source == "hosts");
  CHECK(by_name.host->index == 1);
  CHECK(by_name.host->port == kDefaultPort);
  CHECK(place_in({}, {own + ".example.org", "192.0.2.77"}, 31000).host->index == 0);
  CHECK(place_in({}, {"192.0.2.77", "127.0.0.1"}).host->index == 1);
  CHECK(place_in({{"DTRAIN_HOST_INDEX", "1"}}, {"x.invalid", "y.invalid"}).host->index == 1);
  CHECK_FALSE(place_in({}, {own}).host);
  CHECK_THAT(refusal({}, {"192.0.2.77", "192.0.2.78"}),
             ContainsSubstring("is none of hosts: 192.0.2.77, 192.0.2.78") &&
                 ContainsSubstring("DTRAIN_HOST_INDEX"));
  CHECK_THAT(refusal({}, {"127.0.0.1", "::1"}), ContainsSubstring("more than one"));
  CHECK_THAT(refusal({{"DTRAIN_HOST_INDEX", "2"}}, {"a", "b"}), ContainsSubstring("DTRAIN_HOST_INDEX=2"));
}

TEST_CASE("Slurm's lists") {
  const auto hosts = [](const std::string& text) { return first_slurm_host("LIST", text); };
  CHECK(hosts("a") == "a");
  CHECK(hosts("b-1,a") == "b-1");
  CHECK(hosts("n[08-10,3]x,m") == "n08x");
  CHECK(hosts("n[3],m[1-2]") == "n3");
  for (const char* bad : {"", "n[1-", "n]1[", "n[[1]]", "n[a]", ",b", "n[1][2]", "n[]", "a b", "n[-1]"}) {
    INFO(bad);
    CHECK_THROWS_AS(hosts(bad), Error);
  }
  const auto counts = [](const std::string& text) { return expand_slurm_counts("COUNTS", text, 5); };
  CHECK(counts("2") == std::vector<int64_t>{2});
  CHECK(counts("2(x3),1") == std::vector<int64_t>{2, 2, 2, 1});
  CHECK(counts("1(x99999999999)").size() == 5);
  for (const char* bad : {"", "x", "2(x3", "2(3)", "2(x)", "-1", "2,", "2(x3)4"}) {
    INFO(bad);
    CHECK_THROWS_AS(counts(bad), Error);
  }
}

}  // namespace
}  // namespace dtrain
