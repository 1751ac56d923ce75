// Signals as flags: handlers only count, loops look.
#pragma once

#include <string>

namespace dtrain {

// From now on the stop signals, SIGINT, SIGTERM and SIGHUP, are counted instead of ending the process; SIGHUP
// not where it was ignored already (nohup). Includes what leave_write_errors_to_writers() does. Idempotent.
//
// SIGHUP counts as the first stop signal or not at all: a terminal that is closed may send it twice, and does
// not mean more than a Ctrl-C before it.
void catch_stop_signals();

// The same for the first SIGINT and the first SIGTERM: a second one ends the process. For a process that may
// be waiting for others and cannot look.
void catch_first_stop_signals();

// From now on SIGPIPE and SIGXFSZ are ignored: what they tell comes as an error of the write, too.
void leave_write_errors_to_writers();

// How many of them have arrived, and which was the last (0: none).
int stop_signals_received();
int last_stop_signal();

// From now on SIGUSR1, "save a checkpoint", is counted instead of ending the process.
void catch_save_requests();
int save_requests_received();

// The same, and for SIGQUIT, "tell what is going on", too.
void catch_requests();
int status_requests_received();

// "SIGTERM", "signal 64"
std::string signal_name(int signal);

}  // namespace dtrain
