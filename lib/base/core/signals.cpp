#include "core/signals.h"

#include <fmt/format.h>
#include <string.h>

#include <atomic>
#include <csignal>
#include <ctime>

namespace dtrain {
namespace {

// Not sig_atomic_t: a second signal between the first handler's read and write would not be counted.
std::atomic<int> received = 0;
std::atomic<int> last = 0;
std::atomic<bool> later_one_ends = false;
std::atomic<time_t> first_at[2] = {};  // seconds of the steady clock; of SIGTERM, and of SIGINT
std::atomic<int> save_requests = 0;
std::atomic<int> status_requests = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<time_t>::is_always_lock_free,
              "handlers must not take locks");

extern "C" void count_stop_signal(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  time_t first = 0;
  const bool is_first = first_at[signal == SIGINT ? 1 : 0].compare_exchange_strong(first, now.tv_sec);
  if (later_one_ends && !is_first && now.tv_sec - first > 1) {
    std::signal(signal, SIG_DFL);
    ::raise(signal);  // once this has returned
    return;
  }
  ++received;
  last = signal;
}

extern "C" void count_hangup(int signal) {
  int none = 0;
  if (received.compare_exchange_strong(none, 1)) last = signal;
}

extern "C" void count_request(int signal) { ++(signal == SIGUSR1 ? save_requests : status_requests); }

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

// Without SA_RESTART, so that poll() and sleeps return at once.
void catch_stop_signals() {
  install(SIGINT, count_stop_signal, 0);
  install(SIGTERM, count_stop_signal, 0);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) install(SIGHUP, count_hangup, 0);
  leave_write_errors_to_writers();
}

void end_at_later_stop_signals() { later_one_ends = true; }

void leave_size_limit_to_writers() { std::signal(SIGXFSZ, SIG_IGN); }

void leave_write_errors_to_writers() {
  leave_size_limit_to_writers();
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signals_received() { return received; }

int last_stop_signal() { return last; }

// With SA_RESTART, so that the signal does not disturb whatever the process is doing.
void catch_save_requests() { install(SIGUSR1, count_request, SA_RESTART); }

int save_requests_received() { return save_requests; }

void catch_requests() {
  catch_save_requests();
  install(SIGQUIT, count_request, SA_RESTART);
}

int status_requests_received() { return status_requests; }

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace dtrain
