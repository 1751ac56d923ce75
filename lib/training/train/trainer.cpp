#include "train/trainer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <limits>

#include "core/signals.h"
#include "core/text.h"
#include "data/table_dataset.h"
#include "job_file/print.h"
#include "plan/planned_step.h"

namespace dtrain {

Trainer::Trainer(const JobPlan& job, const RunPlan& run, const SteppingParts& stepping,
                 MakeShares make_shares, const RunRecords& records, bool leads)
    : job_(job),
      run_(run),
      strategy_(stepping.strategy),
      watches_(stepping.watches),
      make_shares_(std::move(make_shares)),
      clock_(stepping.clock),
      reporter_(records.reporter),
      checkpoints_(records.checkpoints),
      callbacks_(records.callbacks),
      activity_(records.activity),
      leads_(leads) {}

void Trainer::run(const Resumption* from) {
  if (from == nullptr) {
    go_to(strategy_.place_variables(), TrainingState());
  } else {
    resume(*from);
  }
  const bool streams = job_.spec.data.stream;  // for each host to decide: all meet if one streams
  meets_ = checkpoints_.are_saved() && (run_.processes() == 1 || !job_.spec.strategy.local_steps.every);
  if (meets_) meets_ = job_.spans_hosts ? strategy_.agree({.save = streams}).save : streams;
  reporter_.on_run_start(step_);
  std::optional<WorkersReport> workers;
  int64_t epoch = first_epoch_;
  if (epoch >= run_.epochs) workers = strategy_.end_training();  // what is left is for others to do
  for (; epoch < run_.epochs && !ended_; ++epoch) {
    if (!pass_is_complete()) train_epoch(epoch);  // else only its evaluation is left
    if (epoch + 1 == run_.epochs) workers = strategy_.end_training();
    const bool is_last = epoch + 1 == run_.epochs || ended_;
    if (shares().evaluated && (is_last || (epoch + 1) % job_.spec.evaluate.every_epochs == 0))
      evaluate(epoch + 1);
    after_epoch(epoch);
  }
  if (run_.total_steps == 0) {  // the initial weights are evaluated and saved
    if (shares().evaluated != nullptr) evaluate(/*epochs=*/0);
    if (checkpoints_.are_saved_at_end()) save(/*epoch=*/0);
  }
  restore_best();
  if (shares().final_test != nullptr) test(epoch);
  gather_examples();
  reporter_.look_at_links();
  finish_strategy();
  checkpoints_.finish();  // however long the disk takes, nobody waits for it
  activity_.doing(Activity::kFinished);
  // Nobody waits for rank 0 any more.
  reporter_.on_run_end(epoch, step_, workers, [this] { return keep_examples(); });
}

// Workers that train each on their own have no common moment for it.
void Trainer::restore_best() {
  const EarlyStoppingSpec& early = job_.spec.callbacks.early_stopping;
  if (!early.metric || !early.restore_best || !checkpoints_.are_saved() || strategy_.is_asynchronous())
    return;
  activity_.doing(Activity::kSaving);
  await_disk();
  std::optional<Resumption> best = checkpoints_.return_to_best(step_);
  if (!best) return;
  went_back_ = true;
  // Nothing is trained any more, and the optimizer of another phase would not fit this one's.
  best->variables.training.clear();
  const TrainingState& state = best->state;
  strategy_.restore_variables(best->variables, state.step);
  // The phase's features were of other weights. The checkpoint just before it has averages of those, or what
  // the hosts had before their last outer update.
  const bool differs = job_.spec.train.ema.decay > 0 || job_.spec.strategy.local_steps.every;
  const int64_t first = phase_->first_step + (differs ? 1 : 0);
  if (phase_->features.may_be_kept() && state.step < first) shares_.reset();  // all hosts meet for new ones
  reporter_.on_best(state.metrics);
  if (!leads_) return;
  const std::string& metric = *job_.spec.checkpoint.best.metric;
  tell(fmt::format("the weights are those after epoch {}, the best by {}: {:.6g}", state.epoch, metric,
                   state.metrics.at(metric)));
}

void Trainer::resume(const Resumption& from) {
  const TrainingState& state = from.state;
  go_to(strategy_.restore_variables(from.variables, state.step), state);
  if (state.unevaluated && step_ == state.step) {  // back into the epoch that they complete
    --first_epoch_;
    position_ = job_.data.train_examples;
  }
  kept_step_ = step_;
  epoch_start_ = steady_seconds() - state.pass_seconds;
  // That of the last step made when it was saved, whose schedule was saved too. A worker of parameter servers
  // may have made other steps of it.
  phase_ = &run_.phase_of(std::max<int64_t>(0, state.step - 1));
  learning_rate_ = LearningRateSchedule(phase_->learning_rate);
  learning_rate_.restore(state.schedule);
  if (state.position > 0) epoch_sums_ = restored_sums(state.pass_sums);  // a complete pass was reported
  // They are summed over the replicas already, as each virtual replica's are in every step.
  if (leads_ || run_.virtual_replicas > 0) window_ = restored_sums(state.window_sums);
  callbacks_.restore(state.callbacks);
  const std::string arithmetic = arithmetic_of(job_, run_, *phase_);
  if (leads_ && !state.arithmetic.empty() && state.arithmetic != arithmetic)
    tell(
        fmt::format("the checkpoint's steps were {}, and these are {}: the same training, but not to the "
                    "last bit",
                    printable(state.arithmetic), arithmetic));
  // A callback may have ended it before. After an epoch it is asked when that is evaluated. What signals ask
  // for is decided after the next step.
  if (deciding_ && !pass_is_complete())
    ended_ = decisions_.agree({.end = callbacks_.want_to_end()}, step_).end;
}

MetricSums Trainer::restored_sums(const std::map<std::string, double>& sums) const {
  if (sums.empty()) return {};
  return {objective_info(job_.spec.train.loss.kind), outputs_of(job_.model.output_shape()), sums};
}

bool Trainer::enter_phase_of(int64_t step, int64_t epoch) {
  const PhasePlan& phase = run_.phase_of(step);
  if (&phase != phase_) {
    finish_steps();
    if (!strategy_.begin_phase(phase.index, phase.layers)) {  // another worker has left
      if (checkpoints_.are_saved()) save(epoch);
      leave();
    }
    phase_ = &phase;
    decisions_.begin_phase(step);
    learning_rate_ = LearningRateSchedule(phase.learning_rate);
    shares_.reset();
  }
  if (shares_) return false;
  const double start = steady_seconds();
  shares();
  if (!phase.name.empty()) reporter_.on_phase(step, phase, steady_seconds() - start);
  return true;
}

ReplicaShares& Trainer::shares() try {
  if (!shares_) shares_ = make_shares_(*phase_);
  return *shares_;
} catch (const Error& error) {
  if (error.code() != ExitCode::kStopped) throw;
  throw Error(ExitCode::kData, "{}", error.what());  // kStopped would say that a checkpoint was saved
}

double Trainer::learning_rate_at(int64_t step) const { return learning_rate_.at(step - phase_->first_step); }

void Trainer::go_to(int64_t step, const TrainingState& from) {
  // Since the beginning of the pass that was under way; negative in an earlier one.
  const int64_t steps = step - from.step + from.position / run_.batch.global;
  const int64_t a_pass = run_.steps_per_epoch;
  const int64_t passes = steps >= 0 ? steps / a_pass : -((a_pass - 1 - steps) / a_pass);
  step_ = step;
  first_epoch_ = std::max<int64_t>(0, from.epoch + passes);
  position_ = (steps - passes * a_pass) * run_.batch.global;
}

void Trainer::train_epoch(int64_t epoch) {
  const int64_t first_step = step_ - position_ / run_.batch.global;
  double learning_rate = 0;
  if (position_ == 0) epoch_start_ = steady_seconds();
  if (position_ == 0) epoch_sums_ = MetricSums();
  rows_.clear();
  if (leads_ && run_.traits().is_observed) callbacks_.forget_examples();
  enter_phase_of(step_, epoch);
  start_shares(epoch);
  if (step_ == run_.total_steps) learning_rate = learning_rate_at(step_ - 1);  // made before
  while (step_ < run_.total_steps && !ended_) {
    if (!pass_is_complete() && enter_phase_of(step_, epoch)) start_shares(epoch);
    activity_.at_step(step_ + 1);
    activity_.doing(Activity::kWaitingForData);
    clock_.enter(StepTime::kDataWait);
    const std::optional<Share> share = next_share(*shares().train, epoch);
    if (!share) break;
    activity_.doing(Activity::kComputing);
    learning_rate = learning_rate_at(step_);
    const MetricSums sums = make_step(*share, {step_ + 1, learning_rate}, epoch);
    window_.add(sums);
    if (++step_ == 1 && leads_ && !strategy_.defers_steps()) reporter_.on_first_step(sums);
    position_ += share->global_examples;
    reporter_.on_step(epoch + 1, step_, clock_.lap(), share->global_examples, !strategy_.defers_steps());
    if (reporter_.ends_warm_up()) finish_steps();
    if (step_ % job_.spec.metrics.every_steps == 0) end_window(epoch, learning_rate);
    after_step(epoch);
  }
  end_window(epoch, learning_rate);
  reporter_.on_epoch(epoch + 1, step_ - first_step, steady_seconds() - epoch_start_, learning_rate,
                     epoch_sums_, strategy_.take_noise_scale());
}

// Nothing is fetched that this phase does not need: its end would wait for the network.
void Trainer::start_shares(int64_t epoch) {
  clock_.start();
  reporter_.leave_out_traffic();
  ready_ = 0;
  shares().train->start_epoch(epoch, position_ / run_.batch.global,
                              phase_->first_step + phase_->steps - step_);
}

// Within a step and at the end of an evaluation replicas wait for each other. So none begins what another has
// no data for. They meet again when they have taken what all of them had at the last meeting.
std::optional<Share> Trainer::next_share(ShareLoader& loader, std::optional<int64_t> epoch) try {
  std::optional<Share> share;
  bool has_come = true;
  try {
    share = loader.next();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kStopped) throw;
    has_come = false;
  }
  if (has_come && !share) return share;  // as on all replicas
  if (!meets_) {
    ready_ = has_come ? 1 : 0;
  } else if (ready_ == 0) {
    clock_.enter(StepTime::kWaitForPeers);
    // Whether it keeps features, so that nothing is fetched, is for each host to decide, too.
    const int64_t here = loader.fetches() ? 1 + loader.ready() : std::numeric_limits<int64_t>::max();
    ready_ = strategy_.fewest_ready(has_come ? here : 0);
  }
  if (ready_-- > 0) return share;
  // In the first step of a phase, the variables are no longer those of the step before. What a callback has
  // ended within an epoch would be resumed as if it were evaluated.
  if (!meets_ || !epoch || ended_ || step_ == phase_->first_step)
    throw Error(ExitCode::kData, "stopped while fetching data");
  if (step_ != kept_step_) save(*epoch);
  leave();
} catch (const StepLost&) {
  if (epoch && !evaluating_) save_before_lost_step(*epoch);
  throw;
}

MetricSums Trainer::make_step(const Share& share, const StepContext& context, int64_t epoch) {
  try {
    for (const auto& watch : watches_) watch->before_step(share, context);
    MetricSums sums = strategy_.train_step(share, context);
    for (auto watch = watches_.rbegin(); watch != watches_.rend(); ++watch)
      (*watch)->after_step(share, context);
    return sums;
  } catch (const StepLost&) {
    save_before_lost_step(epoch);
    throw;
  }
}

// The end of an epoch is saved with its evaluation, not before.
void Trainer::after_step(int64_t epoch) {
  evaluation_.clear();
  const auto& check_every = job_.spec.checks.every_steps;
  if (check_every && step_ % *check_every == 0) check_variables();
  if (!saves_here()) refuse_save_requests();
  if (job_.spec.callbacks.terminate_on_nan) finite_window();
  if (pass_is_complete() || step_ == run_.total_steps || !deciding_) return;
  const Decision decision = decisions_.are_due(step_) ? decide() : Decision();
  if (checkpoints_.are_due_after_step(step_) || decision.save || decision.leave) save(epoch);
  if (decision.leave) leave();
  ended_ = decision.end;
}

void Trainer::after_epoch(int64_t epoch) {
  if (checkpoints_.are_saved() && job_.spec.checkpoint.best.metric && !evaluation_.empty()) await_disk();
  const Decision decision = deciding_ ? decide(checkpoints_.is_best(evaluation_, step_)) : Decision();
  ended_ = ended_ || decision.end;
  const bool last = ended_ || step_ == run_.total_steps;
  if (last) check_variables();
  const bool is_kept = step_ == kept_step_;  // without its evaluation, in which that run was stopped
  const bool due = checkpoints_.are_due_after_step(step_) ||
                   (pass_is_complete() && (is_kept || checkpoints_.are_due_after_epoch(epoch + 1)));
  const bool at_end = last && checkpoints_.are_saved_at_end();
  if (strategy_.is_asynchronous() && !evaluated_) evaluation_.clear();  // of other variables than are saved
  if (checkpoints_.are_saved() && (at_end || due || decision.save || decision.leave)) save(epoch);
  evaluated_.reset();
  if (decision.leave && !last) leave();
  if (pass_is_complete()) position_ = 0;
}

Decision Trainer::decide(bool saves) {
  clock_.enter(StepTime::kCommunicate);
  if (leads_) checkpoints_.report();
  Decision own;
  const bool due = checkpoints_.are_due_by_time();
  const int requests = save_requests_received();
  own.save = saves || due || (saves_here() && requests > save_requests_met_);
  own.leave = checkpoints_.are_saved() && stop_signals_received() > 0;
  own.end = callbacks_.want_to_end();
  const Decision decision = decisions_.agree(own, step_);
  if (decision.save) save_requests_met_ = requests;
  if (decision.save && leads_ && !saves && !due)
    tell(fmt::format("SIGUSR1: saving a checkpoint after step {}", step_));
  clock_.enter(StepTime::kUpdate);
  return decision;
}

void Trainer::check_variables() {
  if (!job_.spec.checks.every_steps || checked_step_ == step_) return;
  checked_step_ = step_;
  finish_steps();
  clock_.enter(StepTime::kCommunicate);
  const std::string warning = strategy_.check_variables();
  clock_.enter(StepTime::kUpdate);
  if (strategy_.defers_steps()) clock_.start();  // else each step of the next window would have a part of it
  if (!warning.empty() && !warned_) reporter_.on_warning(fmt::format("after step {}: {}", step_, warning));
  warned_ = !warning.empty();
  reporter_.leave_out_traffic();
}

// Where workers train each on its own, worker 0 does not hear of the others' requests.
bool Trainer::saves_here() const {
  return checkpoints_.are_saved() && (leads_ || !strategy_.is_asynchronous());
}

void Trainer::refuse_save_requests() {
  const int requests = save_requests_received();
  if (requests == save_requests_met_) return;
  save_requests_met_ = requests;
  const std::string text =
      checkpoints_.are_saved() ? "SIGUSR1: worker 0 saves the checkpoints; send it there, or to dtrain run"
      : run_.traits().saves
          ? "SIGUSR1: this job saves no checkpoints; set checkpoint.final, every_epochs, every_steps or "
            "every_minutes"
          : "SIGUSR1: the " + run_.name() +
                " run saves no checkpoints; the distributed run is the one that can";
  if (!leads_) return spdlog::warn(text);
  reporter_.on_warning(text);
}

// A moment at a time: the others wait for rank 0 no longer than that, else they would take it for dead.
void Trainer::await_disk() {
  Decision wait = {.save = true};
  while (wait.save) wait = strategy_.agree({.save = !checkpoints_.is_written(step_)});
}

void Trainer::save(int64_t epoch) {
  finish_steps();
  const double start = steady_seconds();
  activity_.doing(Activity::kSaving);
  await_disk();  // so that no two copies are held at once
  check_variables();
  const MetricSums window = finite_window();  // what is spoiled replaces nothing good
  CollectedVariables variables =
      evaluated_ ? *std::exchange(evaluated_, std::nullopt) : strategy_.collect_variables();
  if (leads_) {
    Checkpoint checkpoint{std::move(variables.model), std::move(variables.training), state(epoch, window)};
    checkpoint.state.suspicion = variables.suspicion;
    checkpoints_.save(std::move(checkpoint), start);
  }
  kept_step_ = step_;
  clock_.start();  // step times are without it; the checkpoint's event has what it took
  reporter_.leave_out_traffic();
}

// Nobody is asked for anything: replica 0 has all that a checkpoint needs, and what the lost step computed is
// not needed. In the first step of a phase, the variables are no longer those of the step before.
void Trainer::save_before_lost_step(int64_t epoch) {
  if (!leads_ || !checkpoints_.are_saved()) return;
  try {
    activity_.doing(Activity::kSaving);
    const double start = steady_seconds();
    checkpoints_.finish();
    if (step_ == kept_step_ || step_ == phase_->first_step) return;
    const MetricSums window = open_window();
    CollectedVariables variables = strategy_.collect_variables();
    const bool spoiled = window.examples() > 0 && !std::isfinite(window.loss());
    if (spoiled || !variables.suspicion.empty()) return;
    checkpoints_.save({std::move(variables.model), std::move(variables.training), state(epoch, window)},
                      start);
    checkpoints_.finish();
  } catch (const std::exception& error) {  // why the step is lost is what counts
    spdlog::warn("the state after step {} could not be saved: {}", step_, error.what());
  }
}

MetricSums Trainer::open_window() {
  MetricSums own;
  own.add(window_);
  MetricSums sums = sums_of_all(std::move(own));
  window_.settle();  // else each copy would add up its steps again
  return sums;
}

MetricSums Trainer::finite_window() {
  MetricSums sums = open_window();
  if (sums.examples() > 0) require_finite(sums.loss(), "loss");
  return sums;
}

void Trainer::finish_steps() {
  if (strategy_.defers_steps()) open_window();
}

MetricSums Trainer::sums_of_all(MetricSums own) {
  MetricSums sums = strategy_.sum_over_replicas(std::move(own));
  if (strategy_.defers_steps()) reporter_.on_steps_made(clock_.lap());
  return sums;
}

TrainingState Trainer::state(int64_t epoch, const MetricSums& window) const {
  TrainingState state;
  const bool complete = pass_is_complete();
  state.run = run_.name();
  state.epoch = complete ? epoch + 1 : epoch;
  state.step = step_;
  state.position = complete ? 0 : position_;
  state.unevaluated = complete && evaluating_;
  state.train_examples = job_.data.train_examples;
  state.validation_examples = job_.data.validation_examples;
  state.global_batch = run_.batch.global;
  state.pass_seconds = complete ? 0 : steady_seconds() - epoch_start_;
  state.pass_sums = epoch_sums_.named();
  state.window_sums = window.named();
  if (step_ > 0) state.learning_rate = learning_rate_at(step_ - 1);
  state.schedule = learning_rate_.state();
  state.callbacks = callbacks_.state();
  state.metrics = evaluation_;
  state.replicas = run_.replicas;
  state.spec = print_spec(job_.spec);
  state.arithmetic = arithmetic_of(job_, run_, *phase_);
  state.dataset = job_.data.name;
  state.content = job_.data.content;
  state.table = saved_text(job_.data);
  return state;
}

void Trainer::leave() {
  await_disk();
  finish_strategy();  // nobody leaves before rank 0 has written everything
  throw Error(ExitCode::kStopped, "stopped after step {}", step_);
}

void Trainer::finish_strategy() {
  for (const auto& watch : watches_) watch->finish();
  strategy_.finish();
}

bool Trainer::pass_is_complete() const {
  return position_ >= std::min(job_.data.train_examples, run_.steps_per_epoch * run_.batch.global);
}

void Trainer::end_window(int64_t epoch, double learning_rate) {
  clock_.enter(StepTime::kCommunicate);
  const MetricSums window = sums_of_all(std::exchange(window_, MetricSums()));
  clock_.enter(StepTime::kUpdate);
  if (window.examples() == 0) return;  // the epoch ended with a window; every replica sees the same sum
  epoch_sums_.add(window);
  reporter_.on_window(epoch + 1, step_, learning_rate, window);
  require_finite(window.loss(), "loss");
}

void Trainer::require_finite(double loss, const char* of) {
  if (std::isfinite(loss)) return;
  check_variables();  // corrupt memory is no fault of the learning rate
  throw Error(ExitCode::kDiverged,
              "the {} is not finite by step {}: training diverged; lower train.optimizer.learning_rate (now "
              "{:g}) or add train.learning_rate_scaling.warmup_steps; if it trained well before, a bit of "
              "memory may have flipped: --resume goes on from the last good checkpoint",
              of, step_, learning_rate_at(step_ - 1));
}

}  // namespace dtrain
