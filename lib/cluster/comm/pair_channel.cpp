#include "comm/pair_channel.h"

#include <utility>

#include "comm/gloo_group.h"

namespace dtrain {
namespace {

constexpr int kTag = 0;
// For await(): gloo has no wait without a timeout, and a timeout closes the connection.
constexpr std::chrono::milliseconds kEver = std::chrono::hours(24 * 365);

}  // namespace

PairChannel::PairChannel(const StorePtr& store, int side, std::chrono::milliseconds timeout, std::string peer,
                         const GroupNetwork& network)
    : other_(1 - side), timeout_(timeout), peer_(std::move(peer)) {
  with_peer_errors("connecting to " + peer_, [&] {
    auto [backend, sockets] = make_gloo_backend(store, side, /*size=*/2, timeout, network, /*at_once=*/1);
    backend_ = std::move(backend);
    sockets_ = std::move(sockets);
  });
}

void PairChannel::send(const at::Tensor& tensor) {
  with_peer_errors("sending to " + peer_, [&] {
    std::vector<at::Tensor> tensors = {tensor};
    backend_->send(tensors, other_, kTag)->wait(timeout_);
  });
}

void PairChannel::receive(at::Tensor& tensor) {
  with_peer_errors("waiting for " + peer_, [&] { start_receiving(tensor)->wait(timeout_); });
}

bool PairChannel::await(at::Tensor& tensor) {
  bool received = false;
  with_peer_errors("waiting for " + peer_, [&] {
    c10::intrusive_ptr<c10d::Work> work;
    {
      const std::lock_guard lock(mutex_);
      if (interrupted_) return;
      work = awaiting_ = start_receiving(tensor);
    }
    received = work->wait(kEver);
    const std::lock_guard lock(mutex_);
    awaiting_ = nullptr;
  });
  return received;
}

void PairChannel::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (awaiting_) awaiting_->abort();
}

c10::intrusive_ptr<c10d::Work> PairChannel::start_receiving(at::Tensor& tensor) {
  std::vector<at::Tensor> tensors = {tensor};
  return backend_->recv(tensors, other_, kTag);
}

}  // namespace dtrain
