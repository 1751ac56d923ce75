// Signals as flags: handlers only count, loops look.
#pragma once

namespace dtrain {

// From now on SIGINT and SIGTERM are counted instead of ending the process, and SIGPIPE is ignored.
// Idempotent.
void catch_stop_signals();

// How many of them have arrived, and which was the last (0: none).
int stop_signals_received();
int last_stop_signal();

}  // namespace dtrain
