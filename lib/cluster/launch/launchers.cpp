#include "launch/place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/environment.h"
#include "core/error.h"
#include "core/text.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

constexpr uint64_t kFirstPort = 20000;
constexpr uint64_t kPorts = 12000;

[[noreturn]] void fail_missing(const char* launcher, const char* name) {
  throw Error(ExitCode::kUsage,
              "{} started this process (its other variables are set) but the environment has no {}; if it "
              "did not, unset {}",
              launcher, name, variables_of(launcher));
}

int required(const char* launcher, const char* name, int64_t lowest, int64_t highest) {
  const auto number = environment_number(name, lowest, highest);
  if (!number) fail_missing(launcher, name);
  return static_cast<int>(*number);
}

Identity numbers(const char* launcher, const char* rank, const char* size, const char* local_rank,
                 const char* local_size) {
  Identity identity;
  identity.source = launcher;
  identity.rank = required(launcher, rank, 0, kMaxWorldSize - 1);
  identity.world_size = required(launcher, size, 1, kMaxWorldSize);
  identity.local_rank = required(launcher, local_rank, 0, kMaxWorldSize - 1);
  identity.local_world_size = required(launcher, local_size, 1, kMaxWorldSize);
  check_below(rank, identity.rank, size, identity.world_size);
  check_below(local_rank, identity.local_rank, local_size, identity.local_world_size);
  check_below(local_size, identity.local_world_size - 1, size, identity.world_size);
  return identity;
}

// FNV-1a (Fowler, Noll, Vo): jobs with similar numbers get ports that are far apart.
uint16_t port_of_job(const std::string& job) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<uint16_t>(kFirstPort + hash % kPorts);
}

void set_port(Identity& identity, std::optional<int64_t> port, const std::string& job) {
  if (!port) port = environment_number("MASTER_PORT", 1, 65535);
  identity.master_port = port ? static_cast<uint16_t>(*port) : port_of_job(job);
}

// "1556283392.0;tcp://192.0.2.2,10.0.0.2:43187;tcp6://..." -> "192.0.2.2"
std::optional<std::string> host_of_uri(const std::string& uri) {
  const size_t scheme = uri.find("tcp://");
  if (scheme == std::string::npos) return std::nullopt;
  const size_t begin = scheme + 6;
  const std::string host = uri.substr(begin, uri.find_first_of(",:;", begin) - begin);
  return is_host(host) ? std::optional<std::string>(host) : std::nullopt;
}

void set_master(Identity& identity, const std::optional<std::string>& told, const char* advice) {
  if (!identity.spans_hosts()) return;  // loopback is enough
  const auto given = environment_host("MASTER_ADDR");
  if (!given && !told)
    throw Error(ExitCode::kUsage,
                "{} started {} processes on several hosts, and none can tell where rank 0 is: {}",
                identity.source, identity.world_size, advice);
  identity.master_address = given ? *given : *told;
}

// Whether PMI_RANK or PMIX_RANK is from Slurm's own plug-in for MPI (srun --mpi=pmi2, pmix), which numbers
// tasks as Slurm does. A launcher within a step numbers anew: Hydra sets MPI_LOCALRANKID, one with PMIx its
// own PMIX_NAMESPACE. SLURM_STEP_ID does not count here: who unset it wants to start alone.
bool numbered_by_slurm() {
  const auto rank = environment_text("PMI_RANK"), task = environment_text("SLURM_PROCID");
  const auto tasks = environment_text("SLURM_STEP_NUM_TASKS");  // only in a step: a batch script has none
  if (!task || !tasks) return false;
  if (!rank) return environment_text("PMIX_NAMESPACE").value_or("").starts_with("slurm.");
  return rank == task && environment_text("PMI_SIZE").value_or(*tasks) == *tasks &&
         !environment_text("MPI_LOCALRANKID");
}

[[noreturn]] void refuse_list(const char* variable, const std::string& text, const char* what) {
  throw Error(ExitCode::kUsage, "the environment has {}={}, which is not a list of {}", variable,
              printable(text, 80), what);
}

}  // namespace

std::string first_slurm_host(const char* variable, const std::string& text) {
  const size_t prefix = std::min(text.find_first_of("[,"), text.size());
  std::string host = text.substr(0, prefix);
  if (const size_t close = text.find(']', prefix); prefix < text.size() && text[prefix] == '[') {
    const size_t number = std::min(text.find_first_of("-,", prefix), close);
    const bool counts =
        close != std::string::npos && whole_number(text.substr(prefix + 1, number - prefix - 1));
    if (!counts) refuse_list(variable, text, "hosts such as n[01-03],m4");
    host += text.substr(prefix + 1, number - prefix - 1);
    host += text.substr(close + 1, std::min(text.find(',', close), text.size()) - close - 1);
  }
  if (!is_host(host)) refuse_list(variable, text, "hosts such as n[01-03],m4");
  return host;
}

std::vector<int64_t> expand_slurm_counts(const char* variable, const std::string& text, size_t limit) {
  std::vector<int64_t> counts;
  for (const std::string& part : split(text, ',')) {
    const size_t open = std::min(part.find("(x"), part.size());
    const bool repeated = open < part.size();
    const int64_t count = whole_number(part.substr(0, open)).value_or(-1);
    const int64_t times = repeated && part.back() == ')'
                              ? whole_number(part.substr(open + 2, part.size() - open - 3)).value_or(-1)
                              : int64_t{repeated ? -1 : 1};
    if (count < 0 || times < 0) refuse_list(variable, text, "numbers such as 2(x3),1");
    for (int64_t i = 0; i < times && counts.size() < limit; ++i) counts.push_back(count);
  }
  if (counts.empty()) refuse_list(variable, text, "numbers such as 2(x3),1");
  return counts;
}

std::optional<Identity> open_mpi_identity(std::optional<int64_t> port) {
  if (!environment_text("OMPI_COMM_WORLD_RANK")) return std::nullopt;
  Identity identity = numbers("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                              "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
  const auto uri = environment_text("OMPI_MCA_orte_hnp_uri");
  set_master(identity, uri ? host_of_uri(*uri) : std::nullopt,
             "use scripts/launch_mpirun, or mpirun -x MASTER_ADDR=HOST with the host of rank 0");
  set_port(
      identity, port,
      environment_text("PMIX_NAMESPACE").value_or(environment_text("OMPI_MCA_ess_base_jobid").value_or("")));
  return identity;
}

std::optional<Identity> pmi_identity(std::optional<int64_t> port) {
  if (numbered_by_slurm()) return std::nullopt;
  const bool told = environment_text("PMI_RANK") || environment_text("RANK");
  if (!told && environment_text("PMIX_RANK"))
    throw Error(ExitCode::kUsage,
                "the environment has PMIX_RANK, but PMIx does not tell there how many processes there are: "
                "set RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or use "
                "mpirun or srun; unset PMIX_RANK to start alone");
  if (!environment_text("PMI_RANK")) return std::nullopt;
  Identity identity = numbers("PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  set_master(identity, std::nullopt,
             "set MASTER_ADDR to the host of rank 0 (mpiexec -genv MASTER_ADDR HOST)");
  set_port(identity, port, environment_text("PMI_ID").value_or(fmt::format("PMI of {}", ::getuid())));
  return identity;
}

std::optional<Identity> slurm_identity(std::optional<int64_t> port) {
  const auto step = environment_text("SLURM_STEP_ID");
  if (!step || !environment_text("SLURM_PROCID")) return std::nullopt;
  const char* const counts_name = "SLURM_STEP_TASKS_PER_NODE";
  const char* const size_name =
      environment_text("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  Identity identity;
  identity.source = "Slurm";
  identity.rank = required("Slurm", "SLURM_PROCID", 0, kMaxWorldSize - 1);
  identity.world_size = required("Slurm", size_name, 1, kMaxWorldSize);
  identity.local_rank = required("Slurm", "SLURM_LOCALID", 0, kMaxWorldSize - 1);
  const int node = required("Slurm", "SLURM_NODEID", 0, kMaxWorldSize - 1);
  const auto written = environment_text(counts_name);
  if (!written) fail_missing("Slurm", counts_name);
  const auto counts = expand_slurm_counts(counts_name, *written, static_cast<size_t>(kMaxWorldSize));
  check_below("SLURM_PROCID", identity.rank, size_name, identity.world_size);
  check_below("SLURM_NODEID", node, counts_name, static_cast<int64_t>(counts.size()));
  identity.local_world_size = static_cast<int>(counts[static_cast<size_t>(node)]);
  check_below("SLURM_LOCALID", identity.local_rank, counts_name, identity.local_world_size);
  check_below(counts_name, identity.local_world_size - 1, size_name, identity.world_size);
  const auto list = environment_text("SLURM_STEP_NODELIST");
  set_master(identity, list ? std::optional(first_slurm_host("SLURM_STEP_NODELIST", *list)) : std::nullopt,
             "there is no SLURM_STEP_NODELIST; set MASTER_ADDR");
  set_port(identity, port, environment_text("SLURM_JOB_ID").value_or("") + "." + *step);
  return identity;
}

}  // namespace dtrain
