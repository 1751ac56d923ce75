// A parameter server: holds a part of the variables and the optimizer's state for it, and makes the updates
// of workers that come when they please.
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
#include "models/model.h"
#include "optim/optimizer.h"
#include "parameter_server/partition.h"
#include "parameter_server/server_messages.h"
#include "parameter_server/update_ledger.h"
#include "step/watched_optimizer.h"

namespace dtrain {

// Consecutive elements of a server's part, and whether weight decay applies to them.
struct DecayRange {
  int64_t length = 0;
  bool decays = true;
};

// Those of `part`; empty where weight decay makes no difference.
std::vector<DecayRange> decay_ranges_of(const OptimizerSpec& optimizer, const Model& model,
                                        const ServerPart& part);

struct ServiceOptions {
  int workers = 1;
  std::vector<DecayRange> decay_ranges = {};  // empty: all decay
  std::optional<int64_t> max_staleness;
  // An update that is s updates old is made with its learning rate / (1 + s), after Zhang et al. 2016,
  // Staleness-aware Async-SGD for Distributed Deep Learning (arXiv:1511.05950), equation 4.
  bool divide_by_staleness = false;
  double clip_norm = 0;  // of the workers' gradients; 0: they are not clipped
  // After so many updates the values are sealed and their growth is checked (WatchedOptimizer); 0: never.
  int64_t check_every = 0;
  // How long a worker may be silent while another waits for it.
  std::chrono::milliseconds timeout{60000};
  // A worker is lost, and why. From the worker's thread.
  std::function<void(int worker, const std::string& reason)> on_lost = [](int, const std::string&) {};
  // How often a worker that was lost may come back. While it may, worker 0 waits at the end for it as well,
  // up to `timeout` after it was lost.
  int returns = 0;
  // Whether another incarnation of a lost worker is there, for which Connect is then called.
  std::function<bool(int worker)> has_returned = [](int) { return false; };
  // It takes part again, after so many steps. From the worker's thread.
  std::function<void(int worker, int64_t steps)> on_return = [](int, int64_t) {};
  // A request was dealt with; with the number of updates so far. From any thread.
  std::function<void(int64_t version)> on_request = [](int64_t) {};
};

class ParameterService {
 public:
  // Connects to a worker, for as long as it takes or until it throws Error(kPeerLost).
  using Connect = std::function<std::unique_ptr<PairChannel>(int worker)>;

  // `values` [elements]: the initial values of this server's part. The optimizers work element by element, so
  // that the parts of several servers train as the whole would.
  ParameterService(at::Tensor values, const OptimizerSpec& optimizer, ServiceOptions options);

  // Serves every worker, each with a thread of its own, until all have left or are lost, and none that is
  // lost may come back. A worker whose connection fails is lost, and nobody else notices. Throws
  // Error(kPeerLost) when all were lost, Error(kDisagree) when the values are corrupt, and whatever else goes
  // wrong here.
  void serve(const Connect& connect);

  const at::Tensor& values() const { return values_; }
  const UpdateLedger& ledger() const { return ledger_; }

 private:
  using Clock = std::chrono::steady_clock;
  // One worker's connection and what belongs to its thread.
  struct Session;
  class OpenSession;

  void serve_and_note_end(int worker, const Connect& connect);
  void serve_worker(int worker, const Connect& connect);
  // Takes back workers that return, until nobody is served.
  void await_returns(const Connect& connect, std::vector<std::jthread>& threads);
  bool may_return(int worker) const;
  bool somebody_may_return() const;
  // Answers one request; false when it was the last one.
  bool answer(Session& session, const RequestHeader& request);
  void send(Session& session, AnswerHeader header);
  void take_back(int worker);
  // The first exchange; false when it did not come to one.
  bool join(Session& session);
  void read(Session& session, const RequestHeader& request);
  void await_restored(Session& session);
  void leave(Session& session);
  void update(Session& session, const RequestHeader& request);
  void skip(Session& session, const RequestHeader& request);
  void make_update(Session& session, const RequestHeader& request, AnswerHeader& done);
  void add_sums(const Session& session, const SentSums& sums, AnswerHeader& done);
  void check_values();
  void require_unbroken();
  Growth check_growth();  // since the last time; nothing where it is not checked
  void collect(Session& session);
  void restore(Session& session, const RequestHeader& request);
  void end_training(Session& session);
  void report(Session& session);
  // Waits until `condition` holds, which others have to bring about who are `awaited`. Tells the worker
  // meanwhile that it has to wait, and gives up awaited ones that are silent for too long.
  void wait_for_others(std::unique_lock<std::mutex>& lock, Session& session,
                       const std::function<bool()>& condition,
                       const std::function<bool(int worker)>& awaited);
  void give_up_silent_workers(Clock::time_point since, const std::function<bool(int worker)>& awaited);
  ServerState copy_state() const;
  void require_present(int worker) const;
  void lose(int worker, const std::string& reason);
  void stop(const std::exception_ptr& failure);

  const ServiceOptions options_;
  at::Tensor values_;
  std::vector<int64_t> lengths_;                 // of the decay_ranges of the values
  std::vector<at::Tensor> pieces_;               // the decay_ranges themselves: what the optimizer works on
  std::unique_ptr<WatchedOptimizer> optimizer_;  // null: there are no values

  std::mutex mutex_;                 // guards all of these, and the values
  std::condition_variable changed_;  // the ledger
  UpdateLedger ledger_;
  std::vector<Session*> sessions_;  // by worker; nullptr: not connected
  std::vector<bool> served_;        // by worker: its thread runs
  std::condition_variable session_ended_;
  std::vector<Clock::time_point> lost_since_;  // by worker
  SentSums sums_ = {};                         // of all workers since worker 0 was told
  bool restored_ = false;                      // a kRestore has come
  std::exception_ptr failure_;
  std::atomic<bool> stopping_ = false;  // a worker left before its end; all are told
};

}  // namespace dtrain
