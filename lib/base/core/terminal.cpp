#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace dtrain {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool is_terminal(int stream) { return isatty(stream) == 1 && variable("TERM") != "dumb"; }

bool shows_colour(int stream) { return is_terminal(stream) && variable("NO_COLOR").empty(); }

int terminal_width(int stream) {
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int width_limit(int stream) { return is_terminal(stream) ? terminal_width(stream) : 0; }

}  // namespace dtrain
