#include "parameter_server/server_messages.h"

#include <ATen/ATen.h>

namespace dtrain {

Message::Message(int64_t elements, at::ScalarType dtype, int64_t sums) {
  const int64_t values = kHeaderBytes + sums * static_cast<int64_t>(sizeof(double));
  bytes_ = at::zeros({values + elements * static_cast<int64_t>(at::elementSize(dtype))}, at::kByte);
  sums_ = bytes_.slice(0, kHeaderBytes, values).view(at::kDouble);
  values_ = bytes_.slice(0, values).view(dtype);
}

AnswerHeader Message::receive_answer(PairChannel& channel) {
  channel.receive(bytes_);
  AnswerHeader header;
  std::memcpy(&header, bytes_.const_data_ptr(), sizeof header);
  return header;
}

bool Message::await_request(PairChannel& channel, RequestHeader& header) {
  if (!channel.await(bytes_)) return false;
  std::memcpy(&header, bytes_.const_data_ptr(), sizeof header);
  return true;
}

ServerState::ServerState(int64_t count, int64_t elements, at::ScalarType dtype, int workers)
    : steps(at::zeros({workers}, at::kLong)) {
  for (int64_t i = 0; i < count; ++i) memories.push_back(at::zeros({elements}, dtype));
}

void ServerState::send(PairChannel& channel) const {
  for (const at::Tensor& memory : memories) channel.send(memory);
  channel.send(steps);
}

void ServerState::receive(PairChannel& channel) {
  for (at::Tensor& memory : memories) channel.receive(memory);
  channel.receive(steps);
}

}  // namespace dtrain
