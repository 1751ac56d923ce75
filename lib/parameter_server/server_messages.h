// What workers and parameter servers say to each other.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "comm/pair_channel.h"

namespace dtrain {

enum class Request : int64_t {
  kJoin,         // the first; says how many elements the worker believes that the server holds
  kRead,         // wants the variables; with `computes` an update from them will follow
  kAwait,        // the same, once a kRestore has come
  kUpdate,       // has a gradient; the answer may have the variables, for the next one
  kSkip,         // a step without an update
  kCollect,      // wants all that the server has: the variables, then its ServerState and its Growth
  kRestore,      // has all of that
  kEndTraining,  // no more updates; of worker 0: tell when nobody makes any
  kReport,       // wants to know what the workers did
  kLeave,        // the last
};

enum class Answer : int64_t {
  kDone,     // has the variables, or numbers follow, where they were asked for
  kWait,     // the server is well, but has to wait for other workers; another answer will come
  kRefused,  // the two do not run the same job
};

// The values of MetricSums, the loss first, then the examples, and zeros after the last one.
using SentSums = std::array<double, 11>;
constexpr size_t kSentExamples = 1;

struct RequestHeader {
  Request request = Request::kRead;
  int64_t sequence = 0;  // of the step, from 1: kUpdate, kSkip; steps of the optimizer: kRestore
  int64_t elements = 0;  // kJoin; the number of memories that follow: kRestore
  int64_t computes = 0;  // 0 or 1: kRead
  double learning_rate = 0;
  SentSums sums = {};  // of the step's batch: kUpdate
};

struct AnswerHeader {
  Answer answer = Answer::kDone;
  int64_t staleness = 0;  // of the update: kUpdate
  // Elements that the server holds: kJoin; numbers that follow: kReport; memories that follow: kCollect.
  int64_t elements = 0;
  SentSums sums = {};    // of all workers since the last of these answers to worker 0: kUpdate, kSkip
  int64_t steps = 0;     // that the server knows of the worker: kRead, kAwait; of its optimizer: kCollect
  int32_t computes = 0;  // 1: has the variables, and the worker's next update is from them: kUpdate
  int32_t stopping = 0;  // 1: a worker has left before its end, for the job is to stop
};

// A message on its way: a header of 128 bytes and the elements that the server holds, filled or not, so that
// both sides know its size. One tensor, since each costs gloo a handshake and several switches of threads.
class Message {
 public:
  // Without elements for kJoin and its answer, as the two sides may not agree on their number yet.
  explicit Message(int64_t elements = 0, at::ScalarType dtype = at::kFloat);
  at::Tensor& values() { return values_; }  // [elements]

  void send(PairChannel& channel, const RequestHeader& header);
  void send(PairChannel& channel, const AnswerHeader& header);
  AnswerHeader receive_answer(PairChannel& channel);
  // Waits as long as it takes; false when interrupted.
  bool await_request(PairChannel& channel, RequestHeader& header);

 private:
  at::Tensor bytes_;
  at::Tensor values_;  // those of them behind the header
};

// What a server has besides the variables. Sent one tensor after the other.
struct ServerState {
  std::vector<at::Tensor> memories;  // of the optimizer, each [elements]
  at::Tensor steps;                  // int64 [workers]: the steps that each has made, -1 for one that is lost

  ServerState(int64_t count, int64_t elements, at::ScalarType dtype, int workers);
  void send(PairChannel& channel) const;
  void receive(PairChannel& channel);
};

}  // namespace dtrain
