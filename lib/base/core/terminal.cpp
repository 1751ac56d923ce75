#include "core/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/environment.h"
#include "core/text.h"

namespace dtrain {

bool is_terminal(int stream) { return isatty(stream) == 1 && environment_text("TERM") != "dumb"; }

bool has_room(int stream) {
  pollfd output{stream, POLLOUT, 0};
  return ::poll(&output, 1, 0) != 0;
}

bool shows_colour(int stream) { return is_terminal(stream) && !environment_text("NO_COLOR"); }

int terminal_width(int stream) {
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const auto columns = whole_number(environment_text("COLUMNS").value_or(""));
  return columns && *columns >= 20 && *columns <= 1000 ? static_cast<int>(*columns) : 80;
}

int terminal_height(int stream) {
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return 24;
}

int width_limit(int stream) { return is_terminal(stream) ? terminal_width(stream) : 0; }

}  // namespace dtrain
