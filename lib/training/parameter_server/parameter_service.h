// A parameter server: holds a part of the variables and its optimizer state, and makes the updates that
// workers send asynchronously.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/pair_channel.h"
#include "parameter_server/served_values.h"
#include "parameter_server/server_messages.h"
#include "parameter_server/update_ledger.h"

namespace dtrain {

// A phase of the training, as a server sees it.
struct ServerPhase {
  int64_t first_step = 0;  // 0-based over the run, of each worker
  std::vector<TrainedRange> ranges;
};

struct ServiceOptions {
  int workers = 1;
  std::vector<ServerPhase> phases = {};  // at least one
  int64_t sums = 0;                      // how many sums a worker sends for a step (MetricSums)
  std::optional<int64_t> max_staleness;
  // An update with staleness s is made with its learning rate / (1 + s), after Zhang et al. 2016,
  // Staleness-aware Async-SGD for Distributed Deep Learning (arXiv:1511.05950), equation 4.
  bool divide_by_staleness = false;
  double clip_norm = 0;  // limit on the norm of the workers' gradients; 0: no clipping
  // After every `check_every` updates (0: never), the values are sealed and their growth is checked.
  int64_t check_every = 0;
  // How long a worker may be silent while another waits for it.
  std::chrono::milliseconds timeout{60000};
  // Called when a worker is lost, with the reason. Called from the worker's thread.
  std::function<void(int worker, const std::string& reason)> on_lost = [](int, const std::string&) {};
  // How often a lost worker may come back. While it may, a phase and worker 0's end also wait for it, for up
  // to `timeout` after it was lost.
  int returns = 0;
  // Whether a new process of a lost worker has started. If so, Connect is called for it.
  std::function<bool(int worker)> has_returned = [](int) { return false; };
  // Called when a lost worker takes part again, with the number of its steps, from the worker's thread.
  std::function<void(int worker, int64_t steps)> on_return = [](int, int64_t) {};
  // Called when a request has been handled, with the number of updates so far. Called from any thread.
  std::function<void(int64_t version)> on_request = [](int64_t) {};
};

class ParameterService {
 public:
  // Connects to a worker. Waits until it succeeds, or throws Error(kPeerLost).
  using Connect = std::function<std::unique_ptr<PairChannel>(int worker)>;

  // `values` [elements]: the initial values of this server's part.
  ParameterService(at::Tensor values, const OptimizerSpec& optimizer, ServiceOptions options);

  // Serves every worker, each in its own thread, until each has left or is lost and may not come back. A
  // worker whose connection fails is lost; the other workers are not affected. Throws Error(kPeerLost) if all
  // workers were lost, Error(kDisagree) if the values are corrupt, and any other error of this server.
  void serve(const Connect& connect);

  const at::Tensor& values() const { return values_.all(); }
  const UpdateLedger& ledger() const { return ledger_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  // One worker's connection and the data of its thread.
  struct Session;

  void serve_worker(int worker, const Connect& connect);
  // Accepts workers that return, until no worker is being served.
  void await_returns(const Connect& connect, std::vector<std::jthread>& threads);
  bool may_return(int worker) const;
  bool somebody_may_return() const;
  // Answers one request; false if it was the last one.
  bool answer(Session& session, const RequestHeader& request);
  void send(Session& session, AnswerHeader header);
  // Ends what `lock` guards, lets the others look again, and answers.
  void reply(Lock& lock, Session& session, const AnswerHeader& header);
  // The first exchange; false if it did not take place.
  bool join(Session& session);
  // Each answers the request of its name, and thereby unlocks.
  void await_restored(Lock& lock, Session& session, const RequestHeader& request);
  void begin(Lock& lock, Session& session, const RequestHeader& request);
  void read(Lock& lock, Session& session, const RequestHeader& request);
  void update(Lock& lock, Session& session, const RequestHeader& request);
  void skip(Lock& lock, Session& session, const RequestHeader& request);
  void collect(Lock& lock, Session& session, const RequestHeader& request);
  void restore(Lock& lock, Session& session, const RequestHeader& request);
  void end_training(Lock& lock, Session& session, const RequestHeader& request);
  void report(Lock& lock, Session& session, const RequestHeader& request);
  void leave(Lock& lock, Session& session, const RequestHeader& request);
  bool phase_has_begun(int64_t phase);
  // Adds the request's sums to those of all workers, and puts the sums to answer with in their place.
  void add_sums(Session& session, bool has_sums);
  // Waits until `condition` holds; the workers for which `awaited` is true have to make it hold. Meanwhile
  // tells this session's worker to wait, and gives up awaited workers that are silent for too long.
  void wait_for_others(Lock& lock, Session& session, const std::function<bool()>& condition,
                       const std::function<bool(int worker)>& awaited);
  void give_up_silent_workers(Clock::time_point since, const std::function<bool(int worker)>& awaited);
  void require_present(int worker) const;
  void lose(int worker, const std::string& reason);
  void stop(const std::exception_ptr& failure);

  const ServiceOptions options_;

  std::mutex mutex_;  // guards the members below
  ServedValues values_;
  int64_t phase_ = 0;                // under way
  std::condition_variable changed_;  // when the ledger has changed
  UpdateLedger ledger_;
  std::vector<Session*> sessions_;  // by worker; nullptr: not connected
  std::vector<bool> served_;        // by worker: whether its thread runs
  std::condition_variable session_ended_;
  std::vector<Clock::time_point> lost_since_;  // by worker
  at::Tensor sums_;                            // of all workers since the last report to worker 0
  bool restored_ = false;                      // a kRestore was received
  std::exception_ptr failure_;
  std::atomic<bool> stopping_ = false;  // a worker left early; all are told
};

}  // namespace dtrain
