// The messages between workers and parameter servers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "comm/pair_channel.h"

namespace dtrain {

enum class Request : int64_t {
  kJoin,         // the first request; gives the number of elements that the worker expects the server to hold
  kAwait,        // answered once a kRestore was received
  kBegin,        // begins a phase, answered once every worker asks for it; all values follow the answer
  kRead,         // asks for the trained variables; with `computes`, an update computed from them will follow
  kUpdate,       // sends a gradient; the answer may have the variables for the next one
  kSkip,         // a step without an update
  kCollect,      // asks for all values, then the ServerState and the Growth
  kRestore,      // sends all values, then the ServerState of a phase
  kEndTraining,  // no more updates; worker 0 is answered when no worker makes any more
  kReport,       // asks what the workers did
  kLeave,        // the last request
};

enum class Answer : int32_t {
  kDone,     // has the variables, or numbers follow, if they were asked for
  kWait,     // the server is alive but has to wait for other workers; another answer follows
  kRefused,  // the worker and the server do not run the same job
};

struct RequestHeader {
  Request request = Request::kRead;
  int64_t sequence = 0;  // kUpdate, kSkip: number of the step, from 1; kRestore: the optimizer's steps
  int64_t elements = 0;  // kJoin: the elements that it expects; kRestore: memories that follow
  int32_t computes = 0;  // kRead: 0 or 1
  int32_t phase = 0;     // kBegin, kRestore: its number, from 0
  double learning_rate = 0;
};

struct AnswerHeader {
  Answer answer = Answer::kDone;
  int32_t phase = 0;      // kBegin: the server's; not that asked for if the worker is late or the job stops
  int64_t staleness = 0;  // kUpdate: staleness of the update
  // kJoin: elements that the server holds; kReport: numbers that follow; kCollect: memories that follow.
  int64_t elements = 0;
  int64_t steps = 0;     // kBegin: the worker's, as the server knows; kCollect: the optimizer's
  int32_t computes = 0;  // kUpdate: 1: has the variables, and the worker's next update uses them
  int32_t stopping = 0;  // 1: a worker left early because the job is to stop
};

// A message buffer: a header of 40 bytes, the sums of the metrics, and all those elements of the server that
// the phase trains. The space is always there, used or not, so that both sides know the size. It is one
// tensor, because each tensor costs gloo a handshake and several thread switches.
class Message {
 public:
  // Before a server has begun the phase that a worker asks for, their messages have no elements: the two may
  // not agree on the number yet.
  explicit Message(int64_t elements = 0, at::ScalarType dtype = at::kFloat, int64_t sums = 0);
  at::Tensor& values() { return values_; }  // [elements]
  // The values of MetricSums, float64 [sums]. kUpdate: of the step's batch. The answer to kUpdate and kSkip:
  // of all workers since the last such answer to worker 0.
  at::Tensor& sums() { return sums_; }

  template <class Header>
  void send(PairChannel& channel, const Header& header) {
    static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == kHeaderBytes);
    std::memcpy(bytes_.mutable_data_ptr(), &header, sizeof header);
    channel.send(bytes_);
  }
  AnswerHeader receive_answer(PairChannel& channel);
  // Waits without a timeout; false if interrupted.
  bool await_request(PairChannel& channel, RequestHeader& header);

 private:
  static constexpr int64_t kHeaderBytes = 40;

  at::Tensor bytes_;
  at::Tensor sums_;    // the part of bytes_ after the header
  at::Tensor values_;  // the rest
};

// The state of a server besides the variables. It is sent one tensor after the other.
struct ServerState {
  std::vector<at::Tensor> memories;  // of the optimizer, each [elements that are trained]
  at::Tensor steps;                  // int64 [workers]: steps made by each worker, -1 if it is lost

  ServerState(int64_t count, int64_t elements, at::ScalarType dtype, int workers);
  void send(PairChannel& channel) const;
  void receive(PairChannel& channel);
};

}  // namespace dtrain
