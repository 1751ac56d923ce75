#include "parameter_server/parameter_service.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "traits/objectives.h"

namespace dtrain {

struct ParameterService::Session {
  int worker;
  std::unique_ptr<PairChannel> channel;
  Message message;  // the request, then its answer
  Clock::time_point last_request = Clock::now();
  bool waits_for_others = false;
};

ParameterService::ParameterService(at::Tensor values, const OptimizerSpec& optimizer, ServiceOptions options)
    : options_(std::move(options)),
      values_(std::move(values), optimizer, options_.clip_norm, options_.check_every),
      ledger_(options_.workers, options_.max_staleness),
      sessions_(static_cast<size_t>(options_.workers)),
      served_(static_cast<size_t>(options_.workers), true),
      lost_since_(static_cast<size_t>(options_.workers)),
      sums_(at::zeros({options_.sums}, at::kDouble)) {
  values_.begin_phase(options_.phases.at(0).ranges);
}

void ParameterService::serve(const Connect& connect) {
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < options_.workers; ++worker)
    threads.emplace_back([this, worker, &connect] { serve_worker(worker, connect); });
  await_returns(connect, threads);
  threads.clear();  // joins
  if (failure_) std::rethrow_exception(failure_);
  const std::vector<WorkerRecord> workers = ledger_.report().workers;
  if (std::ranges::all_of(workers, [](const WorkerRecord& worker) { return worker.lost; }))
    throw Error(ExitCode::kPeerLost, "every worker was lost");
}

void ParameterService::await_returns(const Connect& connect, std::vector<std::jthread>& threads) {
  constexpr std::chrono::milliseconds kLookForReturns{100};
  const auto nobody_is_served = [this] { return std::ranges::find(served_, true) == served_.end(); };
  std::unique_lock lock(mutex_);
  // A worker cannot return once all others have left.
  while (!session_ended_.wait_for(lock, kLookForReturns, nobody_is_served)) {
    for (int worker = 0; worker < options_.workers && !failure_; ++worker) {
      const auto at = static_cast<size_t>(worker);
      if (served_[at] || !may_return(worker)) continue;
      lock.unlock();  // the callback may make remote calls
      const bool is_there = options_.has_returned(worker);
      lock.lock();
      served_[at] = is_there;
      if (is_there) threads[at] = std::jthread([this, worker, &connect] { serve_worker(worker, connect); });
    }
  }
}

bool ParameterService::may_return(int worker) const {
  return ledger_.is_lost(worker) && ledger_.returns(worker) < options_.returns;
}

bool ParameterService::somebody_may_return() const {
  for (int worker = 0; worker < options_.workers; ++worker) {
    if (may_return(worker) && Clock::now() - lost_since_[static_cast<size_t>(worker)] < options_.timeout)
      return true;
  }
  return false;
}

void ParameterService::serve_worker(int worker, const Connect& connect) {
  const auto note_end = c10::make_scope_exit([&] {
    const std::lock_guard lock(mutex_);
    served_[static_cast<size_t>(worker)] = false;
    session_ended_.notify_all();
  });
  try {
    Session session{worker, connect(worker), Message()};
    const auto let_others_find = [&](Session* open) {
      const std::lock_guard lock(mutex_);
      sessions_[static_cast<size_t>(worker)] = open;
      if (open != nullptr && failure_) open->channel->interrupt();  // too late for the interrupt by stop()
    };
    let_others_find(&session);
    const auto end = c10::make_scope_exit([&] { let_others_find(nullptr); });
    if (!join(session)) return;
    {
      const std::lock_guard lock(mutex_);
      if (ledger_.is_lost(worker)) {
        ledger_.take_back(worker);
        options_.on_return(worker, ledger_.done(worker));
      }
    }
    RequestHeader request;
    while (session.message.await_request(*session.channel, request) && answer(session, request)) {
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kPeerLost) return stop(std::current_exception());
    const std::lock_guard lock(mutex_);
    if (!failure_) lose(worker, error.what());  // otherwise this server failed, not the worker
  } catch (...) {
    stop(std::current_exception());
  }
}

bool ParameterService::answer(Session& session, const RequestHeader& request) {
  using Handler = void (ParameterService::*)(Lock&, Session&, const RequestHeader&);
  // In the order of Request, from kAwait on.
  static constexpr std::array<Handler, 10> kHandlers = {
      &ParameterService::await_restored, &ParameterService::begin,        &ParameterService::read,
      &ParameterService::update,         &ParameterService::skip,         &ParameterService::collect,
      &ParameterService::restore,        &ParameterService::end_training, &ParameterService::report,
      &ParameterService::leave};
  static_assert(kHandlers.size() ==
                static_cast<size_t>(Request::kLeave) - static_cast<size_t>(Request::kAwait) + 1);
  Lock lock(mutex_);
  session.last_request = Clock::now();
  const auto number = static_cast<size_t>(request.request) - static_cast<size_t>(Request::kAwait);
  if (number >= kHandlers.size()) throw Error(ExitCode::kPeerLost, "it sent a request that does not exist");
  (this->*kHandlers[number])(lock, session, request);
  if (request.request == Request::kLeave) return false;
  lock.lock();
  options_.on_request(ledger_.version());
  return true;
}

void ParameterService::send(Session& session, AnswerHeader header) {
  header.stopping = stopping_ ? 1 : 0;
  session.message.send(*session.channel, header);
}

void ParameterService::reply(Lock& lock, Session& session, const AnswerHeader& header) {
  lock.unlock();
  changed_.notify_all();
  send(session, header);
}

bool ParameterService::join(Session& session) {
  Message greeting;
  RequestHeader request;
  if (!greeting.await_request(*session.channel, request)) return false;
  const int64_t elements = values_.all().numel();
  const bool agrees = request.elements == elements;
  greeting.send(*session.channel,
                AnswerHeader{.answer = agrees ? Answer::kDone : Answer::kRefused, .elements = elements});
  return true;
}

// Waits for worker 0 to restore. If worker 0 dies instead, the job ends.
void ParameterService::await_restored(Lock& lock, Session& session, const RequestHeader& /*request*/) {
  wait_for_others(
      lock, session, [this] { return restored_; }, [](int /*worker*/) { return false; });
  reply(lock, session, {});
}

void ParameterService::begin(Lock& lock, Session& session, const RequestHeader& request) {
  const int64_t phase = request.phase;
  if (phase < 0 || phase >= std::ssize(options_.phases))
    throw Error(ExitCode::kPeerLost, "it asked for a phase that does not exist");
  require_present(session.worker);
  ledger_.reach_phase(session.worker, phase);
  changed_.notify_all();
  wait_for_others(
      lock, session, [&] { return phase_has_begun(phase) || stopping_; },
      // However long worker 0, which evaluates and saves before it comes, is silent.
      [&](int worker) { return worker != 0 && !ledger_.allows_phase(worker, phase); });
  require_present(session.worker);
  AnswerHeader header;
  header.phase = static_cast<int32_t>(phase_);
  header.steps = ledger_.done(session.worker);
  at::Tensor values = values_.all().clone();
  const int64_t elements = values_.trained_elements();
  reply(lock, session, header);
  session.channel->send(values);
  const at::ScalarType dtype = values.scalar_type();
  values.reset();  // before there is a message of this size
  if (header.phase == phase) session.message = Message(elements, dtype, options_.sums);
}

// Begins the phase when every worker has come to it. Once the job is to stop none begins any more, so that no
// server is a phase ahead of the checkpoint that worker 0 saves.
bool ParameterService::phase_has_begun(int64_t phase) {
  if (phase_ >= phase) return true;
  if (stopping_ || somebody_may_return()) return false;
  for (int worker = 0; worker < options_.workers; ++worker) {
    if (!ledger_.allows_phase(worker, phase)) return false;
  }
  const ServerPhase& begun = options_.phases[static_cast<size_t>(phase)];
  phase_ = phase;
  values_.begin_phase(begun.ranges);
  ledger_.begin_phase(begun.first_step);
  return true;
}

void ParameterService::read(Lock& lock, Session& session, const RequestHeader& request) {
  require_present(session.worker);
  values_.copy_trained(session.message.values());
  if (request.computes != 0)
    ledger_.read(session.worker);
  else
    ledger_.forget_read(session.worker);
  reply(lock, session, {});
}

void ParameterService::update(Lock& lock, Session& session, const RequestHeader& request) {
  AnswerHeader done;
  require_present(session.worker);
  const bool is_new = !ledger_.was_made(session.worker, request.sequence);
  if (is_new) {
    wait_for_others(
        lock, session, [&] { return ledger_.may_update(session.worker); },
        [this](int worker) { return ledger_.is_computing(worker); });
    require_present(session.worker);
    const auto examples = session.message.sums()[kExamplesSum].item<int64_t>();
    done.staleness = ledger_.update(session.worker, request.sequence, examples, steady_seconds());
    const double divisor = options_.divide_by_staleness ? 1.0 + static_cast<double>(done.staleness) : 1.0;
    values_.update(session.message.values(), request.learning_rate / divisor, ledger_.version());
  }
  ledger_.forget_read(session.worker);
  add_sums(session, is_new);
  // With a staleness bound, a worker must read again after its update is made on all servers. Otherwise two
  // workers could wait for each other, each on a different server.
  if (!options_.max_staleness) {
    values_.copy_trained(session.message.values());  // overwrites the gradient, which is no longer needed
    ledger_.read(session.worker);
    done.computes = 1;
  }
  reply(lock, session, done);
}

void ParameterService::skip(Lock& lock, Session& session, const RequestHeader& request) {
  require_present(session.worker);
  ledger_.skip(session.worker, request.sequence);
  add_sums(session, /*has_sums=*/false);
  reply(lock, session, {});
}

void ParameterService::add_sums(Session& session, bool has_sums) {
  at::Tensor& sums = session.message.sums();
  if (has_sums) sums_ += sums;
  if (session.worker != 0) return;
  sums.copy_(sums_);
  sums_.zero_();
}

// A consistent snapshot: the steps tell which updates are in the variables and which are not.
void ParameterService::collect(Lock& lock, Session& session, const RequestHeader& /*request*/) {
  const Growth growth = values_.check_growth();
  const at::Tensor values = values_.all().clone();
  ledger_.forget_read(session.worker);
  ServerState state(0, 0, values.scalar_type(), options_.workers);
  state.memories = values_.memories();
  auto steps = state.steps.accessor<int64_t, 1>();
  for (int worker = 0; worker < options_.workers; ++worker)
    steps[worker] = ledger_.is_lost(worker) ? -1 : ledger_.done(worker);
  reply(lock, session, {.elements = std::ssize(state.memories), .steps = values_.optimizer_steps()});
  session.channel->send(values);
  state.send(*session.channel);
  session.channel->send(at::tensor({growth.largest, growth.bound}, at::kDouble));
}

// Only worker 0 restores, while the others wait.
void ParameterService::restore(Lock& lock, Session& session, const RequestHeader& request) {
  if (request.phase < 0 || request.phase >= std::ssize(options_.phases))
    throw Error(ExitCode::kPeerLost, "it restores a phase that does not exist");
  at::Tensor values = at::empty_like(values_.all());
  phase_ = request.phase;
  values_.begin_phase(options_.phases[static_cast<size_t>(phase_)].ranges);
  const int64_t elements = values_.trained_elements();
  if (request.elements != 0 && request.elements != values_.memory_count())
    throw Error(ExitCode::kPeerLost, "what it restores is of another optimizer");
  lock.unlock();
  session.channel->receive(values);
  ServerState state(request.elements, elements, values.scalar_type(), options_.workers);
  state.receive(*session.channel);
  lock.lock();
  values_.restore(values, state.memories, request.sequence);
  for (int worker = 0; worker < options_.workers; ++worker)
    ledger_.set_done(worker, state.steps[worker].item<int64_t>());
  ledger_.begin_phase(options_.phases[static_cast<size_t>(phase_)].first_step);
  restored_ = true;
  reply(lock, session, {});
}

void ParameterService::end_training(Lock& lock, Session& session, const RequestHeader& /*request*/) {
  ledger_.end_training(session.worker);
  changed_.notify_all();
  if (session.worker == 0)
    wait_for_others(
        lock, session,
        [this] { return ledger_.all_others_have_ended(0) && (stopping_ || !somebody_may_return()); },
        [this](int worker) { return ledger_.is_training(worker); });
  reply(lock, session, {});
}

void ParameterService::leave(Lock& lock, Session& session, const RequestHeader& /*request*/) {
  if (ledger_.is_training(session.worker)) stopping_ = true;
  ledger_.end_training(session.worker);
  reply(lock, session, {});
}

void ParameterService::report(Lock& lock, Session& session, const RequestHeader& /*request*/) {
  const std::vector<double> values = ledger_.report().values();
  reply(lock, session, {.elements = std::ssize(values)});
  session.channel->send(at::tensor(values, at::kDouble));
}

void ParameterService::wait_for_others(Lock& lock, Session& session, const std::function<bool()>& condition,
                                       const std::function<bool(int worker)>& awaited) {
  using std::chrono::milliseconds;
  const milliseconds patience = std::min(milliseconds(1000), options_.timeout / 4 + milliseconds(1));
  const auto since = Clock::now();
  session.waits_for_others = true;
  while (!failure_ && !changed_.wait_for(lock, patience, [&] { return failure_ || condition(); })) {
    give_up_silent_workers(since, awaited);
    lock.unlock();
    send(session, {.answer = Answer::kWait});
    lock.lock();
  }
  session.waits_for_others = false;
  session.last_request = Clock::now();
  if (failure_) throw Error(ExitCode::kPeerLost, "the server ends");
}

void ParameterService::give_up_silent_workers(Clock::time_point since,
                                              const std::function<bool(int worker)>& awaited) {
  for (const Session* other : sessions_) {
    if (other == nullptr || other->waits_for_others || !awaited(other->worker)) continue;
    if (Clock::now() - std::max(since, other->last_request) < options_.timeout) continue;
    lose(other->worker, fmt::format("it was silent for {:.3g} s while others waited for it",
                                    static_cast<double>(options_.timeout.count()) / 1000));
    other->channel->interrupt();
  }
}

void ParameterService::require_present(int worker) const {
  if (ledger_.is_lost(worker)) throw Error(ExitCode::kPeerLost, "it was given up");
}

void ParameterService::lose(int worker, const std::string& reason) {
  if (ledger_.is_lost(worker)) return;
  ledger_.lose(worker);
  lost_since_[static_cast<size_t>(worker)] = Clock::now();
  changed_.notify_all();
  if (ledger_.is_lost(worker)) options_.on_lost(worker, reason);
}

void ParameterService::stop(const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = failure;
  for (Session* session : sessions_) {
    if (session != nullptr) session->channel->interrupt();
  }
  changed_.notify_all();
}

}  // namespace dtrain
