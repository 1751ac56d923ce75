#include "parameter_server/parameter_service.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "optim/decay_groups.h"
#include "step/sentinel.h"

namespace dtrain {
namespace {

constexpr std::chrono::milliseconds kLookForReturns{100};

}  // namespace

std::vector<Stretch> stretches_of(const OptimizerSpec& optimizer, const Model& model,
                                  const ServerPart& part) {
  if (optimizer.weight_decay == 0) return {};
  const std::vector<at::Tensor> parameters = model.parameters();
  std::vector<Stretch> stretches;
  for (const Piece& piece : part.pieces)
    stretches.push_back({piece.length, decays(optimizer, parameters[piece.parameter])});
  return stretches;
}

struct ParameterService::Attendance {
  int worker;
  std::unique_ptr<PairChannel> channel;
  Message message;  // the request, then its answer
  Clock::time_point last_request = Clock::now();
  bool waits_for_others = false;
};

ParameterService::ParameterService(at::Tensor values, const OptimizerSpec& optimizer, ServiceOptions options)
    : options_(std::move(options)),
      values_(std::move(values)),
      ledger_(options_.workers, options_.max_staleness),
      attendances_(static_cast<size_t>(options_.workers)),
      attended_(static_cast<size_t>(options_.workers), true),
      lost_since_(static_cast<size_t>(options_.workers)) {
  if (values_.numel() == 0) return;
  std::vector<bool> decayed;
  for (const Stretch& stretch : options_.stretches) {
    lengths_.push_back(stretch.length);
    decayed.push_back(stretch.decays);
  }
  if (lengths_.empty()) lengths_ = {values_.numel()}, decayed = {true};
  pieces_ = values_.split_with_sizes(lengths_);
  optimizer_ = std::make_unique<WatchedOptimizer>(make_optimizer(optimizer, pieces_, decayed), pieces_,
                                                  GrowthBound(optimizer, options_.clip_norm));
  optimizer_->begin();
}

void ParameterService::serve(const Connect& connect) {
  std::vector<std::jthread> threads;
  for (int worker = 0; worker < options_.workers; ++worker)
    threads.emplace_back([this, worker, &connect] { attend(worker, connect); });
  await_returns(connect, threads);
  threads.clear();  // joins
  if (failure_) std::rethrow_exception(failure_);
  const std::vector<WorkerRecord> workers = ledger_.report().workers;
  if (std::all_of(workers.begin(), workers.end(), [](const WorkerRecord& worker) { return worker.lost; }))
    throw Error(ExitCode::kPeerLost, "every worker was lost");
}

void ParameterService::await_returns(const Connect& connect, std::vector<std::jthread>& threads) {
  const auto nobody_is_attended = [this] {
    return std::find(attended_.begin(), attended_.end(), true) == attended_.end();
  };
  std::unique_lock lock(mutex_);
  // Nobody can return to where all others have gone.
  while (!attendance_ended_.wait_for(lock, kLookForReturns, nobody_is_attended)) {
    for (int worker = 0; worker < options_.workers && !failure_; ++worker) {
      const auto at = static_cast<size_t>(worker);
      if (attended_[at] || !may_return(worker)) continue;
      lock.unlock();  // it may ask elsewhere
      const bool is_there = options_.has_returned(worker);
      lock.lock();
      attended_[at] = is_there;
      if (is_there) threads[at] = std::jthread([this, worker, &connect] { attend(worker, connect); });
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

// Others can find an attendance while it lasts.
class ParameterService::Enrolment {
 public:
  Enrolment(ParameterService& service, Attendance& attendance)
      : service_(service), worker_(static_cast<size_t>(attendance.worker)) {
    const std::lock_guard lock(service_.mutex_);
    service_.attendances_[worker_] = &attendance;
    if (service_.failure_) attendance.channel->interrupt();  // it came too late to be told
  }
  ~Enrolment() {
    const std::lock_guard lock(service_.mutex_);
    service_.attendances_[worker_] = nullptr;
  }
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

 private:
  ParameterService& service_;
  size_t worker_;
};

void ParameterService::attend(int worker, const Connect& connect) {
  serve_worker(worker, connect);
  const std::lock_guard lock(mutex_);
  attended_[static_cast<size_t>(worker)] = false;
  attendance_ended_.notify_all();
}

void ParameterService::serve_worker(int worker, const Connect& connect) {
  try {
    Attendance attendance{worker, connect(worker), Message(values_.numel(), values_.scalar_type())};
    const Enrolment enrolment(*this, attendance);
    if (!join(attendance)) return;
    take_back(worker);
    RequestHeader request;
    while (attendance.message.await_request(*attendance.channel, request) && answer(attendance, request)) {
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kPeerLost) return stop(std::current_exception());
    const std::lock_guard lock(mutex_);
    if (!failure_) lose(worker, error.what());  // else it is not the worker's end but this server's
  } catch (...) {
    stop(std::current_exception());
  }
}

bool ParameterService::answer(Attendance& attendance, const RequestHeader& request) {
  {
    const std::lock_guard lock(mutex_);
    attendance.last_request = Clock::now();
  }
  switch (request.request) {
    case Request::kRead:
      read(attendance, request);
      break;
    case Request::kAwait:
      await_restored(attendance);
      read(attendance, request);
      break;
    case Request::kUpdate:
      update(attendance, request);
      break;
    case Request::kSkip:
      skip(attendance, request);
      break;
    case Request::kCollect:
      collect(attendance);
      break;
    case Request::kRestore:
      restore(attendance, request);
      break;
    case Request::kEndTraining:
      end_training(attendance);
      break;
    case Request::kReport:
      report(attendance);
      break;
    case Request::kLeave:
      leave(attendance);
      return false;
    default:
      throw Error(ExitCode::kPeerLost, "it sent a request that does not exist");
  }
  const std::lock_guard lock(mutex_);
  options_.on_request(ledger_.version());
  return true;
}

void ParameterService::take_back(int worker) {
  const std::lock_guard lock(mutex_);
  if (!ledger_.is_lost(worker)) return;
  ledger_.take_back(worker);
  options_.on_return(worker, ledger_.done(worker));
}

void ParameterService::send(Attendance& attendance, AnswerHeader header) {
  header.stopping = stopping_ ? 1 : 0;
  attendance.message.send(*attendance.channel, header);
}

bool ParameterService::join(Attendance& attendance) {
  Message greeting;
  RequestHeader request;
  if (!greeting.await_request(*attendance.channel, request)) return false;
  AnswerHeader header;
  if (request.elements != values_.numel()) header.answer = Answer::kRefused;
  header.elements = values_.numel();
  greeting.send(*attendance.channel, header);
  return true;
}

// Worker 0 will restore, unless it dies, which ends the job.
void ParameterService::await_restored(Attendance& attendance) {
  std::unique_lock lock(mutex_);
  wait_for_others(
      lock, attendance, [this] { return restored_; }, [](int /*worker*/) { return false; });
}

void ParameterService::read(Attendance& attendance, const RequestHeader& request) {
  AnswerHeader header;
  {
    const std::lock_guard lock(mutex_);
    require_present(attendance.worker);
    attendance.message.values().copy_(values_);
    header.steps = ledger_.done(attendance.worker);
    if (request.computes != 0) {
      ledger_.read(attendance.worker);
    } else {
      ledger_.forget_read(attendance.worker);
    }
  }
  changed_.notify_all();
  send(attendance, header);
}

void ParameterService::update(Attendance& attendance, const RequestHeader& request) {
  AnswerHeader done;
  {
    std::unique_lock lock(mutex_);
    const bool is_new = !ledger_.was_made(attendance.worker, request.sequence);
    if (is_new) {
      wait_for_others(
          lock, attendance, [&] { return ledger_.may_update(attendance.worker); },
          [this](int worker) { return ledger_.is_computing(worker); });
      make_update(attendance, request, done);
    }
    ledger_.forget_read(attendance.worker);
    add_sums(attendance, is_new ? request.sums : SentSums(), done);
    // Under a bound a worker has to read again once its update is made on all servers: two workers could
    // otherwise wait for each other, each on another server.
    if (!options_.max_staleness) {
      attendance.message.values().copy_(values_);  // over the gradient, which has served
      ledger_.read(attendance.worker);
      done.computes = 1;
    }
  }
  changed_.notify_all();
  send(attendance, done);
}

void ParameterService::make_update(Attendance& attendance, const RequestHeader& request, AnswerHeader& done) {
  require_present(attendance.worker);
  done.staleness = ledger_.update(attendance.worker, request.sequence,
                                  static_cast<int64_t>(request.sums.examples), steady_seconds());
  if (!optimizer_) return;
  const std::vector<at::Tensor> gradients = attendance.message.values().split_with_sizes(lengths_);
  for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].mutable_grad() = gradients[i];
  const double divisor = options_.divide_by_staleness ? 1.0 + static_cast<double>(done.staleness) : 1.0;
  optimizer_->step(request.learning_rate / divisor);
  check_values();
}

// A seal is tested by the update after it, or by whoever collects the values before that.
void ParameterService::check_values() {
  if (options_.check_every == 0) return;
  require_unbroken();
  if (ledger_.version() % options_.check_every != 0) return;
  optimizer_->check_growth();  // what is not plausible stays so until somebody collects it
  optimizer_->seal();
}

Growth ParameterService::check_growth() {
  if (!optimizer_ || options_.check_every == 0) return {};
  require_unbroken();
  return optimizer_->check_growth();
}

void ParameterService::require_unbroken() {
  optimizer_->test_seals();
  if (!optimizer_->broken()) return;
  throw Error(ExitCode::kDisagree,
              std::string("memory of this server is corrupt: variables or what the optimizer remembers of "
                          "them are no longer what the last update made them") +
                  kAfterCorruption);
}

void ParameterService::skip(Attendance& attendance, const RequestHeader& request) {
  AnswerHeader done;
  {
    const std::lock_guard lock(mutex_);
    require_present(attendance.worker);
    ledger_.skip(attendance.worker, request.sequence);
    add_sums(attendance, {}, done);
  }
  changed_.notify_all();
  send(attendance, done);
}

void ParameterService::add_sums(const Attendance& attendance, const SentSums& sums, AnswerHeader& done) {
  sums_.loss += sums.loss;
  sums_.correct += sums.correct;
  sums_.examples += sums.examples;
  if (attendance.worker == 0) done.sums = std::exchange(sums_, {});
}

// All of one moment: which updates are in the variables, and which are not, is what the steps say.
Belongings ParameterService::copy_belongings() const {
  std::vector<OptimizerMemory> memories;
  if (optimizer_) memories = optimizer_->memory();
  Belongings copy(std::ssize(memories), values_.numel(), values_.scalar_type(), options_.workers);
  for (size_t i = 0; i < memories.size(); ++i) at::cat_out(copy.memories[i], memories[i].tensors);
  auto steps = copy.steps.accessor<int64_t, 1>();
  for (int worker = 0; worker < options_.workers; ++worker)
    steps[worker] = ledger_.is_lost(worker) ? -1 : ledger_.done(worker);
  return copy;
}

void ParameterService::collect(Attendance& attendance) {
  AnswerHeader header;
  std::optional<Belongings> belongings;
  Growth growth;
  {
    const std::lock_guard lock(mutex_);
    growth = check_growth();
    attendance.message.values().copy_(values_);
    ledger_.forget_read(attendance.worker);
    belongings = copy_belongings();
    header.elements = std::ssize(belongings->memories);
    header.steps = optimizer_ ? optimizer_->steps() : 0;
  }
  changed_.notify_all();
  send(attendance, header);
  belongings->send(*attendance.channel);
  attendance.channel->send(at::tensor({growth.largest, growth.bound}, at::kDouble));
}

void ParameterService::restore(Attendance& attendance, const RequestHeader& request) {
  std::vector<OptimizerMemory> memories;  // where they are never changes
  if (optimizer_) memories = optimizer_->memory();
  if (request.elements != 0 && request.elements != std::ssize(memories))
    throw Error(ExitCode::kPeerLost, "what it restores is of another optimizer");
  Belongings belongings(request.elements, values_.numel(), values_.scalar_type(), options_.workers);
  belongings.receive(*attendance.channel);
  {
    const std::lock_guard lock(mutex_);
    values_.copy_(attendance.message.values());
    for (size_t i = 0; i < belongings.memories.size(); ++i) {
      const auto pieces = belongings.memories[i].split_with_sizes(lengths_);
      for (size_t piece = 0; piece < pieces.size(); ++piece) memories[i].tensors[piece].copy_(pieces[piece]);
    }
    if (optimizer_) {
      optimizer_->set_steps(request.sequence);
      optimizer_->begin();
    }
    for (int worker = 0; worker < options_.workers; ++worker)
      ledger_.set_done(worker, belongings.steps[worker].item<int64_t>());
    restored_ = true;
  }
  changed_.notify_all();
  send(attendance, {});
}

void ParameterService::end_training(Attendance& attendance) {
  {
    std::unique_lock lock(mutex_);
    ledger_.end_training(attendance.worker);
    changed_.notify_all();
    if (attendance.worker == 0)
      wait_for_others(
          lock, attendance,
          [this] { return ledger_.all_others_have_ended(0) && (stopping_ || !somebody_may_return()); },
          [this](int worker) { return ledger_.is_training(worker); });
  }
  send(attendance, {});
}

void ParameterService::leave(Attendance& attendance) {
  {
    const std::lock_guard lock(mutex_);
    if (ledger_.is_training(attendance.worker)) stopping_ = true;
    ledger_.end_training(attendance.worker);
  }
  changed_.notify_all();
  send(attendance, {});
}

void ParameterService::report(Attendance& attendance) {
  std::vector<double> values;
  {
    const std::lock_guard lock(mutex_);
    values = ledger_.report().values();
  }
  AnswerHeader header;
  header.elements = static_cast<int64_t>(values.size());
  send(attendance, header);
  attendance.channel->send(at::tensor(values, at::kDouble));
}

void ParameterService::wait_for_others(std::unique_lock<std::mutex>& lock, Attendance& attendance,
                                       const std::function<bool()>& condition,
                                       const std::function<bool(int worker)>& awaited) {
  using std::chrono::milliseconds;
  const milliseconds patience = std::min(milliseconds(1000), options_.timeout / 4 + milliseconds(1));
  const auto since = Clock::now();
  attendance.waits_for_others = true;
  while (!failure_ && !changed_.wait_for(lock, patience, [&] { return failure_ || condition(); })) {
    give_up_silent_workers(since, awaited);
    lock.unlock();
    AnswerHeader wait;
    wait.answer = Answer::kWait;
    send(attendance, wait);
    lock.lock();
  }
  attendance.waits_for_others = false;
  attendance.last_request = Clock::now();
  if (failure_) throw Error(ExitCode::kPeerLost, "the server ends");
}

void ParameterService::give_up_silent_workers(Clock::time_point since,
                                              const std::function<bool(int worker)>& awaited) {
  for (const Attendance* other : attendances_) {
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
  for (Attendance* attendance : attendances_) {
    if (attendance != nullptr) attendance->channel->interrupt();
  }
  changed_.notify_all();
}

}  // namespace dtrain
