#include "job/replica_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace dtrain {

std::string describe_replica(const Identity& identity, const StatusBoard& board) {
  return fmt::format("rank {}, process {}: {}", identity.rank, ::getpid(),
                     describe_status(board.get(identity.local_rank), steady_seconds()));
}

Dataset planned_dataset(const JobPlan& job) {
  Dataset dataset = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  const DatasetInfo &found = dataset.info, &planned = job.data;
  if (found.name == planned.name && found.example_shape == planned.example_shape &&
      found.classes == planned.classes && found.targets == planned.targets &&
      dataset.train->size() == planned.train_examples &&
      found.validation_examples == planned.validation_examples &&
      dataset.test->size() == planned.test_examples && found.bad.names == planned.bad.names)
    return dataset;
  throw Error(ExitCode::kData,
              "the data has changed since the job was planned: {} in {}, {}, then; now {} in {}, {}",
              planned.name, printable(planned.source), fingerprint_of(planned), found.name,
              printable(found.source), fingerprint_of(found));
}

}  // namespace dtrain
