#include "callbacks/profile.h"

#include <fmt/format.h>

#include "callbacks/callback.h"
#include "callbacks/forwarding_strategy.h"
#include "callbacks/step_trace.h"
#include "core/clock.h"
#include "core/files.h"
#include "store/peer_errors.h"

namespace dtrain {
namespace {

const char* const kOriginKey = "profile/origin";

int64_t now_in_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string key_of(int64_t rank) { return fmt::format("profile/{}", rank); }

class Profiled : public ForwardingStrategy {
 public:
  Profiled(std::unique_ptr<Strategy> inner, std::shared_ptr<PhaseClock> clock, const ProfileContext& context)
      : ForwardingStrategy(std::move(inner)),
        context_(context),
        clock_(std::move(clock)),
        trace_(context.rank, *clock_),
        first_(*context.job.spec.callbacks.profile.start_step),
        last_(first_ + context.job.spec.callbacks.profile.steps - 1) {
    if (context_.rank == 0) put(kOriginKey, std::to_string(now_in_microseconds()));
  }

  MetricSums train_step(const Share& share, const StepContext& context) override {
    step_ = context.step;
    if (step_ < first_ || step_ > last_) return ForwardingStrategy::train_step(share, context);
    if (!trace_.is_recording()) trace_.start(origin());
    recorded_ = true;
    const auto begin = PhaseClock::Clock::now();
    MetricSums sums = ForwardingStrategy::train_step(share, context);
    trace_.add_step(step_, begin, PhaseClock::Clock::now());
    if (step_ == last_) conclude();
    return sums;
  }

  // Concludes the trace if the training ended before the last traced step.
  void finish() override {
    conclude();
    if (context_.run.is_asynchronous() && context_.rank == 0 && recorded_) write(/*waits=*/false);
    ForwardingStrategy::finish();
  }

 private:
  void conclude() {
    if (!recorded_ || concluded_) return;
    concluded_ = true;
    trace_.stop();
    if (context_.rank != 0) {
      put(key_of(context_.rank), trace_.events());
    } else if (!context_.run.is_asynchronous()) {
      write(/*waits=*/true);
    }
  }

  // On rank 0: writes all traces to one file.
  void write(bool waits) {
    std::string events = trace_.events();
    for (int64_t rank = 1; rank < context_.run.training_processes(); ++rank) {
      if (!waits && !context_.store->check({key_of(rank)})) continue;
      with_peer_errors("collecting the profile", [&] {
        if (waits) context_.store->wait({key_of(rank)}, timeout());
        events += ",\n" + get(key_of(rank));
      });
    }
    const std::filesystem::path path = context_.folder / kProfileFile;
    write_file_atomically(path, trace_file(events));
    context_.events.on_event(
        message_event(context_.run, fmt::format("profile of steps {} to {}: {} (open it in ui.perfetto.dev)",
                                                first_, std::min(step_, last_), path.string())));
  }

  // The origin of the times of all replicas: when rank 0 started its trace.
  StepTrace::Origin origin() const {
    int64_t microseconds = 0;
    with_peer_errors("asking for the beginning of the profile", [&] {
      context_.store->wait({kOriginKey}, timeout());
      microseconds = std::stoll(get(kOriginKey));
    });
    return StepTrace::Origin(std::chrono::microseconds(microseconds));
  }

  void put(const std::string& key, const std::string& text) const {
    context_.store->set(key, std::vector<uint8_t>(text.begin(), text.end()));
  }
  std::string get(const std::string& key) const {
    const std::vector<uint8_t> text = context_.store->get(key);
    return {text.begin(), text.end()};
  }

  std::chrono::milliseconds timeout() const {
    return to_milliseconds(context_.job.spec.strategy.timeout_seconds);
  }

  ProfileContext context_;
  std::shared_ptr<PhaseClock> clock_;
  StepTrace trace_;
  int64_t first_;
  int64_t last_;
  int64_t step_ = 0;  // the run's steps so far
  bool recorded_ = false;
  bool concluded_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_profiled(std::unique_ptr<Strategy> inner, std::shared_ptr<PhaseClock> clock,
                                        const ProfileContext& context) {
  return std::make_unique<Profiled>(std::move(inner), std::move(clock), context);
}

}  // namespace dtrain
