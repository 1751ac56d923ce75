#include "comm/gloo_group.h"
#include "comm/hierarchical_group.h"
#include "comm/process_group.h"
#include "core/error.h"

namespace dtrain {

std::unique_ptr<ProcessGroup> make_group(const std::string& communication,
                                         const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout, const GroupNetwork& network,
                                         Accelerator* accelerator) {
  if (size == 1) return make_single_group();
  if (accelerator != nullptr)
    return make_gloo_group(store, rank, size, timeout, network, {accelerator, communication == "nccl"});
  const bool automatic = communication == "auto";
  if (automatic && network.spans_hosts() && network.local_size > 1)
    return std::make_unique<HierarchicalGroup>(store, rank, size, timeout, network);
  if (communication == "gloo" || (automatic && network.spans_hosts()))
    return make_gloo_group(store, rank, size, timeout, network);
  if (automatic || communication == "shared_memory") {
    if (network.spans_hosts())
      throw Error(ExitCode::kUsage,
                  "strategy.communication: shared_memory joins the replicas of one host, and this job spans "
                  "several; use auto");
    return make_shared_memory_group(store, rank, size, timeout);
  }
  throw Error(ExitCode::kBug, "no communication named '" + communication + "'");
}

}  // namespace dtrain
