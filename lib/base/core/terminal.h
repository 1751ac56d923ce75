// Properties of the terminal behind a standard stream.
#pragma once

namespace dtrain {

// Whether the stream is a terminal whose cursor can be moved (TERM is not "dumb").
bool is_terminal(int stream);

// Whether text can be written there at once; false while its reader stands still, as a terminal does after
// Ctrl-S. True if the reader is gone: writing then tells.
bool has_room(int stream);

// Whether text may be coloured there: on a terminal, unless NO_COLOR is not empty (https://no-color.org).
bool shows_colour(int stream);

// Columns; if the stream does not tell, those of the environment (COLUMNS), or 80.
int terminal_width(int stream);

// Lines; 24 if the stream does not tell.
int terminal_height(int stream);

// Columns that lines of a table should fit in; 0, no limit, if the stream is no terminal.
int width_limit(int stream);

// Escape codes, each of which ends with kPlain.
constexpr char kBold[] = "\x1b[1m";
constexpr char kRed[] = "\x1b[31m";     // errors
constexpr char kYellow[] = "\x1b[33m";  // warnings
constexpr char kGreen[] = "\x1b[32m";   // what is best, or passed
constexpr char kPlain[] = "\x1b[0m";

}  // namespace dtrain
