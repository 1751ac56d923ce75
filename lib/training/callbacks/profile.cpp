#include "callbacks/profile.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "callbacks/step_trace.h"
#include "core/clock.h"
#include "core/files.h"
#include "host/hosts.h"
#include "step/device_steps.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

const char* const kOriginKey = "profile/origin";

template <class Clock>
int64_t now_in_microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

// This moment, for origin_of().
std::string told_origin() {
  return fmt::format("{} {} {}", now_in_microseconds<StepClock::Clock>(),
                     now_in_microseconds<std::chrono::system_clock>(), machine_id());
}

// The processes of a machine share its steady clock; those of others have only the time of day in common.
StepTrace::Time origin_of(const std::string& told) {
  using std::chrono::microseconds;
  int64_t steady = 0, system = 0;
  std::string machine;
  std::istringstream(told) >> steady >> system >> machine;
  if (!machine.empty() && machine == machine_id()) return StepTrace::Time(microseconds(steady));
  return StepClock::Clock::now() - microseconds(now_in_microseconds<std::chrono::system_clock>() - system);
}

std::string key_of(int64_t rank) { return fmt::format("profile/{}", rank); }

// The examples of each micro-batch; 0 if they have different numbers.
int64_t examples_of_each(const Share& share) {
  int64_t examples = 0;
  for (const MicroBatch& batch : share.micro_batches) {
    if (examples != 0 && batch.size() != examples) return 0;
    examples = batch.size();
  }
  return examples;
}

class Profile : public StepWatch {
 public:
  Profile(std::shared_ptr<StepClock> clock, const ProfileContext& context)
      : context_(context),
        clock_(std::move(clock)),
        trace_(context.rank, *clock_),
        first_(*context.job.spec.callbacks.profile.start_step),
        last_(first_ + context.job.spec.callbacks.profile.steps - 1) {
    if (context_.rank == 0) context_.store->set(kOriginKey, told_origin());
    // Where a phase trains only some of the layers, the others have no backward pass of their weights.
    const std::vector<PhasePlan>& phases = context_.run.phases;
    if (phases.size() > 1 || !phases.front().layers.each.empty()) return;
    const std::vector<PlacedLayer>& layers = context_.job.model.layers;
    std::map<std::string, LayerOperations> by_name;
    for (size_t i = 0; i < layers.size(); ++i) by_name[layers[i].name] = operations_of(layers, i);
    trace_.count_operations(std::move(by_name));
  }

  void before_step(const Share& share, const StepContext& context) override {
    step_ = context.step;
    if (!traces_step()) return;
    if (!recorded_) start();
    trace_.set_examples(examples_of_each(share));
    step_began_ = StepClock::Clock::now();
  }

  void after_step(const Share&, const StepContext&) override {
    if (!traces_step()) return;
    trace_.add_step(step_, step_began_, StepClock::Clock::now());
    if (step_ == last_) conclude();
  }

  // Concludes the trace if the training ended before the last traced step.
  void finish() override {
    conclude();
    if (context_.run.is_asynchronous() && context_.rank == 0 && recorded_) write(/*waits=*/false);
  }

 private:
  bool traces_step() const { return first_ <= step_ && step_ <= last_; }

  void start() {
    recorded_ = true;
    begun_ = step_;
    if (context_.accelerator) {  // before the trace, because it takes a while
      wait_for_device();
      context_.accelerator->start_profile();
    }
    trace_.start(origin());
  }

  void conclude() {
    if (!recorded_ || concluded_) return;
    concluded_ = true;
    if (context_.accelerator) wait_for_device();
    trace_.stop();
    if (context_.accelerator) conclude_device();
    if (context_.rank != 0) {
      context_.store->set(key_of(context_.rank), trace_.events());
    } else if (!context_.run.is_asynchronous()) {
      write(/*waits=*/true);
    }
  }

  void wait_for_device() const { StepPacer(context_.accelerator->device(), timeout()).wait_for_all(); }

  // Adds to the trace what this replica's device did; rank 0 also sums it up.
  void conclude_device() {
    const std::string device = context_.accelerator->device().str();
    const std::vector<DeviceActivity> activities = context_.accelerator->stop_profile();
    trace_.add_device(device, activities);
    if (context_.rank != 0) return;
    if (activities.empty())
      return say(
          fmt::format("{} has noted no kernels for the profile: another profiler uses it, or its driver "
                      "lets only administrators profile",
                      device));
    const KernelTimes times = kernel_times_of(activities);
    const int64_t steps = std::min(step_, last_) - begun_ + 1;
    const std::filesystem::path path = context_.folder / kKernelsFile;
    const std::string summary = fmt::format("{}: {}", device, summary_of(times, steps));
    write_file_atomically(path, fmt::format("{}\n\n{}", summary, table_of(times, steps)));
    say(fmt::format("{} ({})", summary, path.string()));
  }

  // On rank 0: writes all traces to one file.
  void write(bool waits) {
    std::string events = trace_.events();
    for (int64_t rank = 1; rank < context_.run.training_processes(); ++rank) {
      if (!waits && !context_.store->check({key_of(rank)})) continue;
      with_peer_errors("collecting the profile", [&] {
        if (waits) context_.store->wait({key_of(rank)}, timeout());
        events += ",\n" + context_.store->get_to_str(key_of(rank));
      });
    }
    const std::filesystem::path path = context_.folder / kProfileFile;
    write_file_atomically(path, trace_file(events));
    say(fmt::format("profile of steps {} to {}: {} (open it in ui.perfetto.dev)", begun_,
                    std::min(step_, last_), path.string()));
  }

  void say(const std::string& text) const { context_.events.on_event(message_event(context_.run, text)); }

  // The origin of the times of all replicas: when rank 0 started its trace.
  StepTrace::Time origin() const {
    std::string told;
    with_peer_errors("asking for the beginning of the profile", [&] {
      context_.store->wait({kOriginKey}, timeout());
      told = context_.store->get_to_str(kOriginKey);
    });
    return origin_of(told);
  }

  std::chrono::milliseconds timeout() const {
    return to_milliseconds(context_.job.spec.strategy.timeout_seconds);
  }

  ProfileContext context_;
  std::shared_ptr<StepClock> clock_;
  StepTrace trace_;
  int64_t first_;
  int64_t begun_ = 0;  // the first step that was profiled: a resumed run may begin within them
  int64_t last_;
  int64_t step_ = 0;  // the run's steps so far
  StepClock::Clock::time_point step_began_;
  bool recorded_ = false;
  bool concluded_ = false;
};

}  // namespace

std::shared_ptr<StepWatch> make_profile(std::shared_ptr<StepClock> clock, const ProfileContext& context) {
  return std::make_shared<Profile>(std::move(clock), context);
}

}  // namespace dtrain
