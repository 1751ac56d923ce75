#include "comm/pair_channel.h"

#include <ATen/ATen.h>

#include <atomic>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <vector>

#include "catch.h"
#include "comm/peer_failure.h"
#include "core/error.h"

namespace dtrain {
namespace {

using std::chrono::milliseconds;

// Runs the two ends of a channel, each on a thread; the failure of `other` is not of interest.
void with_pair(const std::function<void(PairChannel&)>& own, const std::function<void(PairChannel&)>& other,
               milliseconds timeout = std::chrono::seconds(20)) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::thread thread([&] {
    try {
      PairChannel channel(store, 1, timeout, "worker 0");
      other(channel);
    } catch (const std::exception&) {
    }
  });
  std::exception_ptr failure;
  try {
    PairChannel channel(store, 0, timeout, "worker 7");
    own(channel);
  } catch (...) {
    failure = std::current_exception();
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
}

TEST_CASE("tensors arrive in order and whole, both ways") {
  const int64_t size = GENERATE(1, 1000, 3'000'000);
  bool right = true;
  with_pair(
      [&](PairChannel& channel) {
        at::Tensor got = at::empty({size});
        for (int i = 0; i < 5; ++i) {
          REQUIRE(channel.await(got));
          right = right && at::equal(got, at::full({size}, static_cast<float>(i)));
          channel.send(got + 10);
        }
      },
      [&](PairChannel& channel) {
        at::Tensor got = at::empty({size});
        for (int i = 0; i < 5; ++i) {
          channel.send(at::full({size}, static_cast<float>(i)));
          channel.receive(got);
          right = right && at::equal(got, at::full({size}, 10 + static_cast<float>(i)));
        }
      });
  CHECK(right);
}

TEST_CASE("a peer that goes away is an error with its name, and only on its channel") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto stays = c10::make_intrusive<c10d::PrefixStore>("stays", store);
  at::Tensor tensor = at::zeros({4});
  std::thread peer([&] {
    PairChannel channel(stays, 1, std::chrono::seconds(20), "server 0");
    at::Tensor got = at::empty({4});
    channel.receive(got);
    channel.send(got + 1);
  });
  PairChannel alive(stays, 0, std::chrono::seconds(20), "worker 1");
  const std::string failure = peer_failure_of(
      [&] { with_pair([&](PairChannel& channel) { channel.await(tensor); }, [](PairChannel&) {}); });
  CHECK_THAT(failure, ContainsSubstring("waiting for worker 7"));
  alive.send(at::ones({4}));
  alive.receive(tensor);
  peer.join();
  CHECK(at::equal(tensor, at::full({4}, 2.0F)));
}

TEST_CASE("a peer that is silent is an error after the timeout, unless it is awaited") {
  with_pair(
      [](PairChannel& channel) {
        at::Tensor tensor = at::zeros({4});
        CHECK(channel.await(tensor));  // twice the timeout
        const std::string failure = peer_failure_of([&] { channel.receive(tensor); });
        CHECK_THAT(failure, ContainsSubstring("waiting for worker 7"));
      },
      [](PairChannel& channel) {
        at::Tensor never = at::zeros({4});
        const std::string failure = peer_failure_of([&] {
          std::this_thread::sleep_for(milliseconds(2200));
          channel.send(at::ones({4}));
          channel.await(never);  // until the other side has had enough
        });
        CHECK(failure != "none");
      },
      milliseconds(1000));  // which bounds their meeting, too
}

TEST_CASE("an interrupted wait returns at once, and so does every later one") {
  const bool before = GENERATE(true, false);
  std::atomic<PairChannel*> waiting = nullptr;
  with_pair(
      [&](PairChannel& channel) {
        at::Tensor tensor = at::zeros({4});
        if (before) channel.interrupt();
        waiting = &channel;
        CHECK_FALSE(channel.await(tensor));
        CHECK_FALSE(channel.await(tensor));
      },
      [&](PairChannel& channel) {
        while (waiting == nullptr) std::this_thread::yield();
        waiting.load()->interrupt();
        at::Tensor tensor = at::zeros({4});
        peer_failure_of([&] { channel.await(tensor); });
      });
}

TEST_CASE("nobody comes: an error after the timeout") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const std::string failure =
      peer_failure_of([&] { PairChannel channel(store, 0, milliseconds(200), "worker 3"); });
  CHECK_THAT(failure, ContainsSubstring("connecting to worker 3"));
}

// A peer that says where it is and then stands still, until it is released.
class StoppedStore : public c10d::PrefixStore {
 public:
  StoppedStore(const c10::intrusive_ptr<c10d::Store>& store, std::future<void> released)
      : PrefixStore("", store), released_(std::move(released)) {}
  void wait(const std::vector<std::string>& /*keys*/, const milliseconds& /*timeout*/) override {
    released_.wait();
    throw std::runtime_error("it was stopped");
  }

 private:
  std::future<void> released_;
};

// What connecting to a peer that stops after it has said where it is comes to.
std::string failure_with_stopped_peer() {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::promise<void> release;
  const auto stopped = c10::make_intrusive<StoppedStore>(store, release.get_future());
  std::thread peer([&] {
    try {
      PairChannel channel(stopped, 1, milliseconds(5000), "server 0");
    } catch (const Error&) {
    }
  });
  const auto own = c10::make_intrusive<c10d::PrefixStore>("", store);
  const std::string failure =
      peer_failure_of([&] { PairChannel channel(own, 0, milliseconds(300), "worker 3"); });
  release.set_value();
  peer.join();
  return failure;
}

TEST_CASE("a peer that stops while the two connect is an error after the timeout") {
  std::string failure = "none";
  // Gloo decides by their addresses who of the two calls the other. The kernel takes the call of the own
  // side.
  for (int attempt = 0; attempt < 40 && failure == "none"; ++attempt) failure = failure_with_stopped_peer();
  CHECK_THAT(failure, ContainsSubstring("connecting to worker 3: Connect timeout"));
}

}  // namespace
}  // namespace dtrain
