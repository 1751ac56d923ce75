// Ranks as threads.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

// Where rank `rank` of `size` stands when they are spread evenly over `hosts` (all of them this one, really).
inline GroupNetwork network_of(int hosts, int size, int rank) {
  const int local = size / hosts;
  return {.host = rank / local, .hosts = hosts, .local_rank = rank % local, .local_size = local};
}

// Runs `body` once per rank and rethrows the failure of the lowest rank that had one.
inline void with_ranks(const std::string& communication, int size,
                       const std::function<void(ProcessGroup&)>& body,
                       std::chrono::milliseconds timeout = std::chrono::seconds(20), int hosts = 1) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> failures(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto group =
            make_group(communication, store, rank, size, timeout, network_of(hosts, size, rank));
        body(*group);
      } catch (...) {
        failures[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace dtrain
