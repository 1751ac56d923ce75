#include "core/signals.h"

#include <atomic>
#include <csignal>

namespace dtrain {
namespace {

// Not sig_atomic_t: a second signal may interrupt the handler of the first between reading and writing, and
// would not be counted.
std::atomic<int> received = 0;
std::atomic<int> last = 0;
static_assert(std::atomic<int>::is_always_lock_free, "handlers must not take locks");

extern "C" void count_stop_signal(int signal) {
  ++received;
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

void note_stop_signal(int signal) { count_stop_signal(signal); }

int stop_signals_received() { return received; }

int last_stop_signal() { return last; }

}  // namespace dtrain
