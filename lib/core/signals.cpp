#include "core/signals.h"

#include <csignal>

namespace dtrain {
namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t last = 0;

extern "C" void count_stop_signal(int signal) {
  received = received + 1;
  last = signal;
}

// Without SA_RESTART: poll() and sleeps return at once.
void install_handlers(int flags) {
  struct sigaction action {};
  action.sa_handler = count_stop_signal;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  leave_write_errors_to_writers();
}

}  // namespace

void catch_stop_signals() { install_handlers(0); }

void catch_first_stop_signals() { install_handlers(SA_RESETHAND); }

void leave_write_errors_to_writers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int stop_signals_received() { return received; }

int last_stop_signal() { return last; }

}  // namespace dtrain
