// Brings together hosts that make steps on their own (strategy.local_steps).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/host_mean.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "models/variables.h"
#include "spec/spec.h"
#include "step/collect.h"

namespace dtrain {

// In a round, each host makes spec.every steps on its own, from outer weights w that all hosts have. It ends
// with an update of w by d, the mean of the hosts' changes, weighted by how many examples each host has seen:
//   m <- momentum m + d
//   w <- w + learning_rate (d + momentum m)   nesterov
//   w <- w + learning_rate m                  sgd
// (Douillard et al. 2023, DiLoCo, arXiv:2311.08105; with a learning rate of 1 and no momentum, local SGD:
// Stich 2018, arXiv:1805.09767). Moving statistics of batch_norm become their mean. Each host keeps the state
// of its optimizer. All hosts compute the same bits, on whatever processor.
//
// Collective calls are those of all replicas, unless they say otherwise.
class OuterUpdate {
 public:
  // For the parameters that are trained now. `all`: all replicas; this host's are all.inside(). The arguments
  // must outlive this.
  OuterUpdate(const LocalStepsSpec& spec, Encoding encoding, Model& model, ProcessGroup& all);

  // Call when the model got the variables that all hosts have: these are the outer weights of a first round.
  void begin();
  // Call after a step, in which this host has seen `examples`. Returns whether the round is complete.
  bool add_step(int64_t examples);
  // Whether steps were made since the last update. The same on all replicas.
  bool is_under_way() const { return steps_ > 0; }
  // The smallest number of steps from now, at least `steps`, after which a round is complete, but not many
  // times `steps`.
  int64_t round_up(int64_t steps) const;
  // Ends the round: the model gets the new outer weights. Collective.
  void update();
  // A checksum of what all hosts have alike. The same on all ranks of a host. Collective.
  uint64_t digest() const;
  // Whether the model has the outer weights, for an evaluation, or those of this host. Collective.
  void show_outer(bool outer);

  // Changes what collect() gave each host: variables become the outer weights. What differs between hosts
  // becomes rows, one for each host, named "hosts.NAME", on rank 0. Collective.
  void collect(CollectedVariables& all) const;
  // Selects from what collect() saved what this host passes to restore(). `saved` counts on rank 0, the
  // result on a host's first rank. With another number of hosts, the round begins again. Collective.
  CollectedVariables restore(const CollectedVariables& saved);

 private:
  // Numbers that hosts exchange at once.
  struct Piece {
    int64_t begin = 0;
    int64_t count = 0;
    std::unique_ptr<HostMean> mean = nullptr;  // on ranks that communicate for their host
  };
  void add_pieces(int64_t begin, int64_t end, Encoding encoding);
  void update(const Piece& piece, const at::Tensor& own);  // `own`: this host's numbers; overwritten
  bool communicates() const { return outer_.defined(); }
  at::Tensor read() const;             // the variables in a row
  void write(const at::Tensor& flat);  // collective, of the host
  at::Tensor part(const at::Tensor& flat, size_t variable) const;
  Variables differing(const Variables& training, const std::map<std::string, at::Tensor>& of_model) const;
  void take_round(std::map<std::string, at::Tensor>& training, const Variables& model, bool same_hosts);

  LocalStepsSpec spec_;
  Model& model_;
  ProcessGroup& all_;
  Variables variables_;          // trained parameters, then moving statistics
  std::vector<int64_t> places_;  // of these in the row; each begins a block of its own
  int64_t parameters_ = 0;       // the length of the row up to the statistics
  std::vector<Piece> pieces_;
  int64_t steps_ = 0;     // of this round
  int64_t examples_ = 0;  // of this host in this round
  bool shows_outer_ = false;
  // On the ranks that communicate for their host:
  at::Tensor outer_;
  at::Tensor momentum_;  // of the parameters
  at::Tensor own_;       // while the model has the outer weights
};

// What OuterUpdate::collect() saved, as a training without local steps takes it: with the state of the first
// host's optimizer.
CollectedVariables of_first_host(const CollectedVariables& saved);

}  // namespace dtrain
