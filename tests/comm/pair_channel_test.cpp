#include "comm/pair_channel.h"

#include <ATen/ATen.h>

#include <atomic>
#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "catch.h"
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

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    return error.what();
  }
  return "none";
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
  const std::string failure = failure_of(
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
        CHECK(channel.await(tensor));  // three times the timeout
        const std::string failure = failure_of([&] { channel.receive(tensor); });
        CHECK_THAT(failure, ContainsSubstring("waiting for worker 7"));
      },
      [](PairChannel& channel) {
        at::Tensor never = at::zeros({4});
        const std::string failure = failure_of([&] {
          std::this_thread::sleep_for(milliseconds(900));
          channel.send(at::ones({4}));
          channel.await(never);  // until the other side has had enough
        });
        CHECK(failure != "none");
      },
      milliseconds(300));
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
        failure_of([&] { channel.await(tensor); });
      });
}

TEST_CASE("nobody comes: an error after the timeout") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const std::string failure =
      failure_of([&] { PairChannel channel(store, 0, milliseconds(200), "worker 3"); });
  CHECK_THAT(failure, ContainsSubstring("connecting to worker 3"));
}

}  // namespace
}  // namespace dtrain
