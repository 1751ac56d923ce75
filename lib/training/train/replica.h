// The work of one process in a run: it trains as a replica, serves variables, or measures the overhead of a
// strategy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/process_group.h"
#include "core/clock.h"
#include "data/dataset.h"
#include "device/accelerator.h"
#include "initial_state/resume.h"
#include "launch/identity.h"
#include "metrics/events.h"
#include "models/model.h"
#include "plan/job_plan.h"
#include "plan/phases.h"
#include "processes/status_board.h"
#include "store/store.h"
#include "strategy/strategy.h"

namespace dtrain {

// What a process of a run works with. All of it outlives the process's part in the run.
struct ReplicaContext {
  const JobPlan& job;
  const RunPlan& run;
  const Identity& identity;  // its rank is one of run.processes()
  const StorePtr& store;     // where the processes of the run meet
  const RunContext& files;   // rank 0's count, but all must know whether to resume
  StatusBoard& board;        // has a slot for each process of this host
  EventSink& sink;           // takes the events of rank 0, and of servers

  bool leads() const { return identity.rank == 0; }
};

// Takes part in the run as process `context.identity.rank`, whose role (launch/identity.h) follows from the
// rank; collective over the processes of the run. One that serves variables needs no data.
void run_replica(const ReplicaContext& context, const Dataset& dataset);

// How many steps each of the two strategies of an overhead run makes, including those that are not counted.
int64_t overhead_steps(const JobPlan& job, const RunPlan& run);

// Trains one replica with the run's strategy and one with the baseline's on the same batches, step by step in
// turn, on the device of `accelerator` (null: the CPU), so that both see the same machine. Sends {"event":
// "overhead", "step": ...} several times a second, and at the end {"overhead": median step / median step - 1,
// "uncertainty": half a 95 % confidence interval, as in RelativeCost}. `clock` is read before and after each
// step, of which the first is the baseline's.
void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator = {},
                      const std::function<double()>& clock = steady_seconds);

// Connects this worker of the run to every server.
ServerConnections connect_to_servers(const ReplicaContext& context);

// Serves the run's workers as its server `server`, until all have ended. The sink hears of a worker that was
// given up ("worker_given_up", processes/diagnosis.h).
void serve_parameters(const ReplicaContext& context, int64_t server);

// The dataset with the outputs of the first phase.features.layers layers of `model` in place of the inputs,
// in memory that the replicas of this host share, or as it is where there are no such layers. They compute it
// together, each a part; collective over all replicas: its `call`-th call of the run. If features may be kept
// on some host, returns when all hosts are ready. Throws Error(kPeerLost) when a replica is gone.
Dataset with_features(const ReplicaContext& context, const PhasePlan& phase, Model& model,
                      const Dataset& dataset, int64_t call);

// What the hosts of the run have sent to each other, and how. Rank 0 gets the links between all hosts, at
// most the 120 that carried the most; with parameter_server, only those of its own host. The others get
// nullopt, and so does rank 0 on one host. `sockets`: of this process. All processes but servers call it
// once, while all are connected; a process that does not come within seconds is left out.
std::optional<std::vector<LinkSummary>> links_between_hosts(const ReplicaContext& context,
                                                            const std::vector<int>& sockets);

// Where this process stands among the hosts, and where its sockets are bound.
GroupNetwork network_of(const Identity& identity);

// The replicas of one synchronous run. They can form a group again: each group belongs to a generation, whose
// keys at the store no other generation reads. Each process counts generations from 1, so every attempt of a
// run needs a store of its own, as its supervisor or rank 0 serves it.
class ReplicaGroups {
 public:
  // `accelerator`: what this replica computes on; null: the CPU. `context` outlives the groups.
  ReplicaGroups(const ReplicaContext& context, std::shared_ptr<Accelerator> accelerator)
      : context_(context), accelerator_(std::move(accelerator)) {}

  // The group of the next generation. Collective: all replicas call it equally often. Throws Error(kPeerLost)
  // if one does not come in time.
  std::unique_ptr<ProcessGroup> make_group();

 private:
  const ReplicaContext& context_;
  std::shared_ptr<Accelerator> accelerator_;
  int64_t generation_ = 0;  // of the last group; 0: there was none yet
};

}  // namespace dtrain
