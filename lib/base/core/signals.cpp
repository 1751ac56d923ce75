#include "core/signals.h"

#include <fmt/format.h>
#include <string.h>

#include <atomic>
#include <csignal>

namespace dtrain {
namespace {

// Not sig_atomic_t: a second signal between the first handler's read and write would not be counted.
std::atomic<int> received = 0;
std::atomic<int> last = 0;
std::atomic<int> save_requests = 0;
std::atomic<int> status_requests = 0;
static_assert(std::atomic<int>::is_always_lock_free, "handlers must not take locks");

extern "C" void count_stop_signal(int signal) {
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

// Without SA_RESTART, so that poll() and sleeps return at once.
void install_stop_handlers(int flags) {
  install(SIGINT, count_stop_signal, flags);
  install(SIGTERM, count_stop_signal, flags);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) install(SIGHUP, count_hangup, 0);
  leave_write_errors_to_writers();
}

}  // namespace

void catch_stop_signals() { install_stop_handlers(0); }

void catch_first_stop_signals() { install_stop_handlers(SA_RESETHAND); }

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
