// The current activity of every replica of this host, in memory shared with the supervisor. A replica writes
// its own slot with plain atomic stores (nanoseconds, no system call). When something goes wrong the
// supervisor reads the slots, so that an error can say which replica was missing and where the others waited.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace dtrain {

enum class Activity : uint32_t {
  kStarting,
  kLoadingData,
  kConnecting,
  kBuilding,
  kWaitingForData,
  kComputing,
  kCommunicating,
  kUpdating,
  kEvaluating,
  kSaving,
  kServing,
  kFinished,
};
const char* activity_name(Activity activity);  // "waiting for data", ...

struct ReplicaStatus {
  Activity activity = Activity::kStarting;
  int64_t step = 0;  // global, 1-based; 0 before the first
  double since = 0;  // steady_seconds() at the start of the activity
};

// "computing at step 120 for 2.3 s". `now` is from steady_seconds().
std::string describe_status(const ReplicaStatus& status, double now);

class StatusBoard {
 public:
  // Creates an anonymous board (memfd) with `replicas` slots. Its descriptor is closed on exec; supervise()
  // passes it to the replicas.
  static std::unique_ptr<StatusBoard> create(int replicas);
  // Opens the board behind `descriptor` for a replica and takes the descriptor over. If the descriptor is not
  // a board, throws Error(kBug) and leaves it open.
  static std::unique_ptr<StatusBoard> open(int descriptor);
  ~StatusBoard();
  StatusBoard(StatusBoard&&) = delete;  // nor copied

  void set(int rank, Activity activity, int64_t step);
  ReplicaStatus get(int rank) const;

  // The supervisor counts what it has read and passed on of a replica's reports (report.h), so that the
  // replica can wait until everything it has said is kept. A new process in the slot begins with none.
  void count_report(int rank);
  void forget_reports(int rank);
  uint64_t reports(int rank) const;

  int replicas() const { return replicas_; }
  int descriptor() const { return descriptor_; }

 private:
  struct Slot;
  Slot& slot(int rank) const;  // throws Error(kBug) if there is none
  StatusBoard(int descriptor, Slot* slots, int replicas);
  int descriptor_;
  Slot* slots_;
  int replicas_;
};

}  // namespace dtrain
