// A parameter server's record of its workers: which worker computes from which version of the variables,
// which updates were made, and which must wait so that none becomes too stale. No threads, no messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// The number of updates by staleness: the number of updates by other workers between a worker's reading of
// the variables and its update. Exact below 64; above in classes [64, 128), [128, 256), ..., to stay small.
class StalenessHistogram {
 public:
  static constexpr size_t kExact = 64;  // 2^6
  static constexpr size_t kClasses = kExact + 57;
  void add(int64_t staleness);
  void add(const StalenessHistogram& other);
  int64_t updates() const;
  double mean() const;
  int64_t maximum() const { return maximum_; }  // exact; 0 without updates
  // "3" or "64-127"
  static std::string name_of(size_t index);
  const std::array<int64_t, kClasses>& counts() const { return counts_; }

 private:
  friend struct WorkersReport;
  std::array<int64_t, kClasses> counts_{};
  int64_t sum_ = 0;
  int64_t maximum_ = 0;
};

// The record of one worker.
struct WorkerRecord {
  int64_t updates = 0;
  int64_t examples = 0;
  double first_update = 0;  // seconds on the server's clock
  double last_update = 0;
  bool lost = false;
  int64_t returns = 0;  // how often it was lost and came back

  // Between the first and the last update; 0 with fewer than two updates.
  double updates_per_second() const;
};

// The records of all workers of an asynchronous strategy.
struct WorkersReport {
  StalenessHistogram staleness;  // of the updates of all servers; each counts those of its part
  std::vector<WorkerRecord> workers;

  // The report as numbers, to be sent.
  std::vector<double> values() const;
  static WorkersReport from_values(const std::vector<double>& values);
  // Adds another server's report on the same workers.
  void add(const WorkersReport& other);
};

class UpdateLedger {
 public:
  // With a bound of N, no update with a staleness above N is made. To guarantee it, the updates of faster
  // workers wait, as in stale synchronous parallel training (Ho et al. 2013, More Effective Distributed ML
  // via a Stale Synchronous Parallel Parameter Server), where staleness is counted in a worker's clocks; here
  // it is counted in updates, which is the actual age of a gradient. N must be at least workers - 1; then no
  // worker ever waits to read.
  UpdateLedger(int workers, std::optional<int64_t> max_staleness);

  // The worker reads the variables, to compute from them. Returns their version: the number of updates.
  int64_t read(int worker);
  // Withdraws read(): no update will come from what the worker has read.
  void forget_read(int worker) { of(worker).computes_from.reset(); }

  // Whether the worker's update number `sequence` (from 1) was already made: each is made once.
  bool was_made(int worker, int64_t sequence) const { return sequence <= done(worker); }
  // Whether the worker's update can be made now so that the updates of all other computing workers can stay
  // within the bound, in whatever order they wait for each other. The worker that read first may always
  // update, so some worker can always continue.
  bool may_update(int worker) const;
  // Records an update that `may_update` allows. Returns its staleness.
  int64_t update(int worker, int64_t sequence, int64_t examples, double now);
  // Records a step without an update: the worker's share was empty.
  void skip(int worker, int64_t sequence) {
    forget_read(worker);
    set_done(worker, std::max(done(worker), sequence));
  }
  // The worker has made its steps before phase `phase` (from 0): no update will come from what it has read.
  void reach_phase(int worker, int64_t phase) {
    forget_read(worker);
    of(worker).phase = phase;
  }
  // Whether the worker needs not be waited for before the phase begins: it has come, has ended or is lost.
  bool allows_phase(int worker, int64_t phase) const {
    return !is_training(worker) || of(worker).phase >= phase;
  }
  // A phase begins, before which each worker was to make `steps` steps. Those that a lost worker did not make
  // are not made any more.
  void begin_phase(int64_t steps) {
    for (Worker& worker : workers_) worker.done = std::max(worker.done, steps);
  }
  // Sets the number of the worker's last step when training is resumed.
  void set_done(int worker, int64_t sequence) { of(worker).done = sequence; }

  void end_training(int worker) {
    forget_read(worker);
    of(worker).ended = true;
  }
  // The worker died or is given up: no other waits for it. One that had ended training is not lost.
  void lose(int worker) {
    forget_read(worker);
    of(worker).record.lost = !of(worker).ended;
  }
  // A lost worker takes part again, from the step after its last one. The updates that its lost process made
  // stay, and no more can come from that process.
  void take_back(int worker);
  bool is_lost(int worker) const { return of(worker).record.lost; }
  bool all_others_have_ended(int worker) const;
  bool is_training(int worker) const;  // has not ended and is not lost
  bool is_computing(int worker) const { return of(worker).computes_from.has_value(); }

  int64_t version() const { return version_; }
  int64_t done(int worker) const { return of(worker).done; }  // its last step
  int64_t returns(int worker) const { return of(worker).record.returns; }
  WorkersReport report() const;

 private:
  struct Worker {
    int64_t done = 0;
    int64_t phase = 0;                     // that it has reached
    std::optional<int64_t> computes_from;  // the version it has read
    bool ended = false;
    WorkerRecord record;
  };
  Worker& of(int worker) { return workers_[static_cast<size_t>(worker)]; }
  const Worker& of(int worker) const { return workers_[static_cast<size_t>(worker)]; }

  std::optional<int64_t> max_staleness_;
  int64_t version_ = 0;
  std::vector<Worker> workers_;
  StalenessHistogram staleness_;
};

}  // namespace dtrain
