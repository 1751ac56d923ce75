#include "train/profile.h"

#include <fmt/format.h>

#include "comm/failure.h"
#include "core/files.h"
#include "train/callback.h"
#include "train/forwarding_strategy.h"
#include "train/step_trace.h"

namespace dtrain {
namespace {

std::string key_of(int64_t rank) { return fmt::format("profile/{}", rank); }

class Profiled : public ForwardingStrategy {
 public:
  Profiled(std::unique_ptr<Strategy> inner, std::shared_ptr<PhaseClock> clock, const ProfileSite& site)
      : ForwardingStrategy(std::move(inner)),
        site_(site),
        clock_(std::move(clock)),
        trace_(site.rank, *clock_),
        first_(*site.job.spec.callbacks.profile.start_step),
        last_(first_ + site.job.spec.callbacks.profile.steps - 1) {}

  int64_t place_variables() override { return step_ = ForwardingStrategy::place_variables(); }
  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    return step_ = ForwardingStrategy::restore_variables(variables, step);
  }

  MetricSums train_step(const Share& share, double learning_rate) override {
    ++step_;
    if (step_ < first_ || step_ > last_) return ForwardingStrategy::train_step(share, learning_rate);
    if (!trace_.is_recording()) trace_.start();
    recorded_ = true;
    const auto begin = PhaseClock::Clock::now();
    MetricSums sums = ForwardingStrategy::train_step(share, learning_rate);
    trace_.add_step(step_, begin, PhaseClock::Clock::now());
    if (step_ == last_) conclude();
    return sums;
  }

  // The training may have ended before the last of the steps.
  void finish() override {
    conclude();
    if (site_.run.is_asynchronous() && site_.rank == 0 && recorded_) write(/*waits=*/false);
    ForwardingStrategy::finish();
  }

 private:
  void conclude() {
    if (!recorded_ || concluded_) return;
    concluded_ = true;
    trace_.stop();
    if (site_.rank != 0) {
      const std::string& events = trace_.events();
      site_.store->set(key_of(site_.rank), std::vector<uint8_t>(events.begin(), events.end()));
    } else if (!site_.run.is_asynchronous()) {
      write(/*waits=*/true);
    }
  }

  // Rank 0: all traces as one file.
  void write(bool waits) {
    std::string events = trace_.events();
    for (int64_t rank = 1; rank < site_.run.replicas; ++rank) {
      if (!waits && !site_.store->check({key_of(rank)})) continue;
      with_peer_errors("collecting the profile", [&] {
        if (waits) site_.store->wait({key_of(rank)}, timeout());
        const std::vector<uint8_t> others = site_.store->get(key_of(rank));
        events += ",\n" + std::string(others.begin(), others.end());
      });
    }
    const std::filesystem::path path = site_.folder / kProfileFile;
    write_file_atomically(path, trace_file(events));
    site_.events.on_event(
        message_event(site_.run, fmt::format("profile of steps {} to {}: {} (open it in ui.perfetto.dev)",
                                             first_, std::min(step_, last_), path.string())));
  }

  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(site_.job.spec.strategy.timeout_seconds * 1000));
  }

  ProfileSite site_;
  std::shared_ptr<PhaseClock> clock_;
  StepTrace trace_;
  int64_t first_;
  int64_t last_;
  int64_t step_ = 0;  // of the run, made so far
  bool recorded_ = false;
  bool concluded_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_profiled(std::unique_ptr<Strategy> inner, std::shared_ptr<PhaseClock> clock,
                                        const ProfileSite& site) {
  return std::make_unique<Profiled>(std::move(inner), std::move(clock), site);
}

}  // namespace dtrain
