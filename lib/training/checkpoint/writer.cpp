#include "checkpoint/writer.h"

#include <sys/resource.h>

#include <utility>

#include "checkpoint/retention.h"

namespace dtrain {
namespace {

constexpr int kNiceness = 10;

// Applies to this thread only: Linux keeps niceness per thread, and 0 means the caller. If it fails, the
// checkpoint is only written at normal priority.
void give_way() { static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNiceness)); }

}  // namespace

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, const CheckpointSpec& spec,
                                   std::function<void()> settle)
    : folder_(std::move(folder)), spec_(spec), settle_(std::move(settle)) {
  remove_leftovers(folder_);
}

void CheckpointWriter::save(Checkpoint checkpoint) {
  finish();
  writing_ = std::async(std::launch::async, [this, checkpoint = std::move(checkpoint)] {
    give_way();
    settle_();
    save_checkpoint(folder_, checkpoint);
    if (checkpoint.state.suspicion.empty()) {
      remove_old_checkpoints(folder_, checkpoint.state.step, spec_);
    } else {
      remove_other_suspects(folder_, checkpoint.state.step);
    }
  });
}

bool CheckpointWriter::is_idle(std::chrono::milliseconds within) {
  if (writing_.valid() && writing_.wait_for(within) != std::future_status::ready) return false;
  finish();
  return true;
}

void CheckpointWriter::finish() {
  if (writing_.valid()) writing_.get();
}

}  // namespace dtrain
