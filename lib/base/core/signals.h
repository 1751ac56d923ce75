// Signals as counters: handlers only count, and loops check the counters.
#pragma once

#include <string>

namespace dtrain {

// From now on the stop signals SIGINT, SIGTERM and SIGHUP are counted and no longer end the process. SIGHUP
// stays ignored if it was ignored before (nohup). Also does what leave_write_errors_to_writers() does.
// Idempotent.
//
// SIGHUP counts only as the first stop signal: closing a terminal may send it twice, and after a Ctrl-C it
// carries no further meaning.
void catch_stop_signals();

// From now on a second SIGINT or SIGTERM that is caught ends the process. For one that may be blocked waiting
// for others and has no supervisor to end it. Those within a second or two of the first do not count: who
// ends a group of processes may tell each of them, and their launcher, who tells them again.
void end_at_later_stop_signals();

// From now on SIGXFSZ is ignored: a write beyond the limit for the size of files (ulimit -f) also returns an
// error, which the writer handles.
void leave_size_limit_to_writers();

// The same, and also for SIGPIPE.
void leave_write_errors_to_writers();

// How many stop signals have arrived, and which was the last (0: none).
int stop_signals_received();
int last_stop_signal();

// From now on SIGUSR1 ("save a checkpoint") is counted and no longer ends the process.
void catch_save_requests();
int save_requests_received();

// The same, and also for SIGQUIT ("report your status").
void catch_requests();
int status_requests_received();

// "SIGTERM", "signal 64"
std::string signal_name(int signal);

}  // namespace dtrain
