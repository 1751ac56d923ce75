// The checkpoints of a run on a slow disk.
#include "train/run_checkpoints.h"

#include <ATen/ATen.h>

#include <chrono>
#include <future>

#include "catch.h"
#include "checkpoint/retention.h"
#include "files.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

// A disk that is done with a checkpoint once somebody was told that training waits for it.
class SlowDisk : public EventSink {
 public:
  std::vector<std::string> warnings;
  void on_event(const Event& event) override {
    if (event.at("event") != "warning") return;
    warnings.push_back(event.at("text").get<std::string>());
    if (warnings.size() == 1) told_.set_value();
  }
  void settle() override { told_future_.wait_for(std::chrono::minutes(1)); }

 private:
  std::promise<void> told_;
  std::shared_future<void> told_future_ = told_.get_future().share();
};

TEST_CASE("that training waits for a slow disk is said once") {
  const JobPlan job = small_job({"checkpoint.every_steps=1"});
  const TemporaryFolder folder;
  SlowDisk disk;
  RunCheckpoints checkpoints(job, job.distributed_run(), folder / "checkpoints", /*leads=*/true, disk,
                             nullptr);
  for (int64_t step = 1; step <= 3; ++step) {
    bool waits = false;
    while (!checkpoints.is_written(step)) waits = true;
    CHECK((waits || step != 2));
    Checkpoint checkpoint{{{"weight", at::full({2}, step)}}, {}, {}};
    checkpoint.state.step = step;
    checkpoint.state.position = 4 * step;
    checkpoint.state.train_examples = 18;
    checkpoint.state.global_batch = 4;
    checkpoint.state.replicas = 1;
    checkpoints.save(std::move(checkpoint), 0);
  }
  checkpoints.finish();
  CHECK(disk.warnings ==
        std::vector<std::string>{
            "the checkpoint of step 1 is still being written after step 2: training waits for the disk; save "
            "less often, or choose a faster disk with --run-dir"});
  CHECK(list_checkpoints(folder / "checkpoints").size() == 3);
}

}  // namespace
}  // namespace dtrain
