// Signals as flags: handlers only count, loops look.
#pragma once

namespace dtrain {

// From now on SIGINT and SIGTERM are counted instead of ending the process. Includes what the next one does.
// Idempotent.
void catch_stop_signals();

// The same for the first of each: a second one ends the process. For a process that may be waiting for others
// and cannot look.
void catch_first_stop_signals();

// From now on SIGPIPE and SIGXFSZ are ignored: what they tell comes as an error of the write, too.
void leave_write_errors_to_writers();

// Counts one that another process got for both, and leaves to this process its own first one.
void note_stop_signal(int signal);

// How many of them have arrived, and which was the last (0: none).
int stop_signals_received();
int last_stop_signal();

}  // namespace dtrain
