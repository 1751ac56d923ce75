#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/environment.h"

namespace dtrain {

bool is_terminal(int stream) { return isatty(stream) == 1 && environment_text("TERM") != "dumb"; }

bool shows_colour(int stream) { return is_terminal(stream) && !environment_text("NO_COLOR"); }

int terminal_width(int stream) {
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int width_limit(int stream) { return is_terminal(stream) ? terminal_width(stream) : 0; }

}  // namespace dtrain
