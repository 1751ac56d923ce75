#include "store/store.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/error.h"
#include "core/sockets.h"
#include "core/text.h"
#include "store/socket_filter.h"

namespace dtrain {
namespace {

const char* const kWork = "work";  // how often ranks have said that they are at work

// The first line of the text, without gloo's source position in front: "[file.cc:123] text" -> "text".
std::string brief(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  const size_t bracket = line.find("] ");
  if (!line.empty() && line.front() == '[' && bracket != std::string::npos) line.erase(0, bracket + 2);
  return line;
}

// Waits for the keys, however long ranks are at work. If those that are missing are dead, or stand still, it
// is said no more, and this ends with the store's error.
void wait_for_workers(const StorePtr& store, const std::vector<std::string>& keys,
                      std::chrono::milliseconds timeout) {
  for (int64_t seen = 0;;) {
    try {
      return store->wait(keys, timeout);
    } catch (const c10::DistStoreError&) {
      const int64_t said = store->add(kWork, 0);
      if (said == seen) throw;
      seen = said;
    }
  }
}

}  // namespace

void HostedStore::admit(const std::vector<std::string>& addresses) const {
  admit_only(listener.get(), addresses);
}

HostedStore host_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout) {
  Listening listening = listen_at(address, port);
  HostedStore hosted;
  hosted.port = listening.port;
  hosted.listener = Descriptor(::fcntl(listening.socket.get(), F_DUPFD_CLOEXEC, 0));
  c10d::TCPStoreOptions options;
  options.port = hosted.port;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = timeout;
  options.masterListenFd = listening.socket.release();  // the store closes it
  with_peer_errors("hosting the store",
                   [&] { hosted.store = c10::make_intrusive<c10d::TCPStore>(address, options); });
  return hosted;
}

StorePtr connect_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout) {
  StorePtr store;
  c10d::TCPStoreOptions options;
  options.port = port;
  options.waitWorkers = false;
  options.timeout = timeout;
  const auto connect = [&] { store = c10::make_intrusive<c10d::TCPStore>(address, options); };
  with_peer_errors(fmt::format("connecting to the store at {}:{}", address, port), [&] {
    // Most requests of the store wait for their answers without a time limit of their own.
    for (const int socket : sockets_opened_by(connect))
      limit_silence(socket, std::chrono::duration<double>(timeout).count());
  });
  return store;
}

void set_key(const StorePtr& store, const std::string& key) {
  with_peer_errors("writing to the store", [&] { store->set(key, std::vector<uint8_t>{1}); });
}

void wait_for_key(const StorePtr& store, const std::string& key) {
  constexpr auto kPatience = std::chrono::seconds(5);
  with_peer_errors("waiting at the store", [&] {
    while (true) {
      try {
        return store->wait({key}, kPatience);
      } catch (const c10::DistStoreError&) {
        // The key is not set yet. If the store is gone, that is a DistNetworkError, which is passed on.
        if (store->check({key})) return;
      }
    }
  });
}

void wait_for_ranks(const StorePtr& store, int rank, int size, std::chrono::milliseconds timeout) {
  const auto key_of = [](int other) { return fmt::format("here/{}", other); };
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) keys.push_back(key_of(other));
  with_peer_errors(fmt::format("rank {} meeting {} others", rank, size - 1), [&] {
    store->set(key_of(rank), std::vector<uint8_t>{1});
    try {
      wait_for_workers(store, keys, timeout);
    } catch (const c10::DistStoreError&) {
      std::vector<std::string> missing;
      for (int other = 0; other < size; ++other) {
        if (!store->check({key_of(other)})) missing.push_back(std::to_string(other));
      }
      if (missing.empty()) return;
      const double seconds = std::chrono::duration<double>(timeout).count();
      throw Error(ExitCode::kPeerLost,
                  "after {} rank{} {} had not arrived (network.rendezvous_timeout_seconds, or "
                  "strategy.timeout_seconds if "
                  "that is longer, is how long to wait)",
                  human_duration(seconds), missing.size() == 1 ? "" : "s", join(missing));
    }
  });
}

void note_work(const StorePtr& store) {
  with_peer_errors("writing to the store", [&] { store->add(kWork, 1); });
}

void with_peer_errors(const std::string& what, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error&) {
    throw;
  } catch (const c10::DistError& error) {
    throw Error(ExitCode::kPeerLost, what + ": " + brief(error.what_without_backtrace()));
  } catch (const std::runtime_error& error) {
    throw Error(ExitCode::kPeerLost, what + ": " + brief(error.what()));
  }
}

}  // namespace dtrain
