#include "comm/process_group.h"
#include "core/error.h"

namespace dtrain {

std::unique_ptr<ProcessGroup> make_group(const std::string& communication,
                                         const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout) {
  if (size == 1) return make_single_group();
  if (communication == "gloo") return make_gloo_group(store, rank, size, timeout);
  if (communication == "auto" || communication == "shared_memory") {
    return make_shared_memory_group(store, rank, size, timeout);
  }
  throw Error(ExitCode::kBug, "no communication named '" + communication + "'");
}

}  // namespace dtrain
