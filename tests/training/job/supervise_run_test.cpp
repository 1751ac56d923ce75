#include "job/replica_process.h"

#include "catch.h"
#include "files.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

TEST_CASE("replicas that cannot be started are a result, after which the run may be restarted") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  RunDirectoryOptions options;
  options.directory = folder / "run";
  const RunDirectory directory = RunDirectory::create(options);
  std::filesystem::create_directory(directory.logs() / "distributed-rank0.log");  // where its log cannot be
  LocalReplicas replicas;
  replicas.identities = {local_identity(0, 1, "store")};
  const SuperviseResult result =
      supervise_replicas(job, job.distributed_run(), directory, "dtrain", replicas);
  CHECK(result.code == ExitCode::kUsage);
  CHECK(result.evidence == Evidence::kFailedItself);
  CHECK_THAT(result.reason, ContainsSubstring("cannot open ") && ContainsSubstring("distributed-rank0.log"));
}

}  // namespace
}  // namespace dtrain
