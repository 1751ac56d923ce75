// What a parameter server knows of its workers: who computes from which version of the variables, which
// updates were made, and which have to wait so that none gets too old. Neither threads nor messages are in
// it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// How many updates had which staleness. A staleness is the number of updates by others between a worker's
// reading the variables and its own update. Exact below 64; above that in classes [64, 128), [128, 256), ...,
// so that its size is bounded.
class StalenessHistogram {
 public:
  static constexpr size_t kClasses = 64 + 57;
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

// What one worker did.
struct WorkerRecord {
  int64_t updates = 0;
  int64_t examples = 0;
  double first_update = 0;  // seconds on the server's clock
  double last_update = 0;
  bool lost = false;
  int64_t returns = 0;  // how often it was lost and came back

  // Between its first and its last update; 0 with fewer than two.
  double updates_per_second() const;
};

// What the workers of an asynchronous strategy did, each on its own.
struct WorkersReport {
  StalenessHistogram staleness;  // of the updates that the servers made, each of its part
  std::vector<WorkerRecord> workers;

  // As numbers, to be sent.
  std::vector<double> values() const;
  static WorkersReport from_values(const std::vector<double>& values);
  // Adds what another server saw of the same workers.
  void add(const WorkersReport& other);
};

class UpdateLedger {
 public:
  // With a bound of N, no update is made whose staleness is above N. It holds by letting the update of a
  // faster worker wait, as in stale synchronous parallel training (Ho et al. 2013, More Effective Distributed
  // ML via a Stale Synchronous Parallel Parameter Server), where staleness is counted in a worker's clocks;
  // here it is counted in updates, which is a gradient's age itself. N is at least workers - 1: then nobody
  // ever waits to read.
  UpdateLedger(int workers, std::optional<int64_t> max_staleness);

  // The worker reads the variables and will compute from them. Returns their version, the number of updates
  // so far.
  int64_t read(int worker);
  // It will not: no update from what it has read will come.
  void forget_read(int worker) { of(worker).computes_from.reset(); }

  // Whether an update that the worker numbers `sequence` (from 1) was made before: each is made once.
  bool was_made(int worker, int64_t sequence) const { return sequence <= done(worker); }
  // Whether the worker's update can be made now such that those of all others who compute stay in bounds,
  // whatever they wait for among each other. The one who read first always may, so somebody can always go on.
  bool may_update(int worker) const;
  // Makes the update that `may_update` allows. Returns its staleness.
  int64_t update(int worker, int64_t sequence, int64_t examples, double now);
  // A step that made no update, because the worker's share of it was empty.
  void skip(int worker, int64_t sequence);
  // Of a training that goes on: the number of the worker's last step.
  void set_done(int worker, int64_t sequence) { of(worker).done = sequence; }

  void end_training(int worker);
  // It died or is given up: nobody waits for it any more. Who had ended training is not lost.
  void lose(int worker);
  // Who was lost takes part again, from the step after its last one: the incarnation that was lost has made
  // the updates that it has made, and none of it can come any more.
  void take_back(int worker);
  bool is_lost(int worker) const { return of(worker).record.lost; }
  bool all_others_have_ended(int worker) const;
  bool is_training(int worker) const;  // has neither ended nor is lost
  bool is_computing(int worker) const { return of(worker).computes_from.has_value(); }

  int64_t version() const { return version_; }
  int64_t done(int worker) const { return of(worker).done; }  // the number of its last step
  int64_t returns(int worker) const { return of(worker).record.returns; }
  WorkersReport report() const;

 private:
  struct Worker {
    int64_t done = 0;
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
