#include "watch/watch.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "core/signals.h"
#include "core/terminal.h"

namespace dtrain {
namespace {

constexpr int kNarrowestTerminal = 40;     // columns; a narrower one wraps lines
constexpr int kBetweenFrames = 500;        // milliseconds
constexpr int64_t kBytesAFrame = 4 << 20;  // of the events of a run, so that frames come while much is read

// The terminal's other screen, without a cursor and what is typed; the old one comes back with its end.
class FullScreen {
 public:
  FullScreen() {
    std::cout << "\x1b[?1049h\x1b[?25l";
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // Ctrl-Z would leave the shell on this screen
    has_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  ~FullScreen() {
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
  }
  FullScreen(FullScreen&&) = delete;  // nor copied

  static void show(const std::vector<std::string>& frame) {
    std::string text = "\x1b[H";
    for (size_t i = 0; i < frame.size(); ++i) text += (i > 0 ? "\r\n\x1b[2K" : "\x1b[2K") + frame[i];
    std::cout << text << "\x1b[0m\x1b[J" << std::flush;
  }

  // Waits; whether a q was typed, or the terminal is gone.
  bool wants_to_leave(int milliseconds) {
    pollfd keys{has_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (::poll(&keys, 1, milliseconds) <= 0) return false;
    char key = 'q';
    return ::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q';
  }

 private:
  termios before_{};
  bool has_keys_ = false;
};

std::vector<WatchedRun> look_at(std::vector<FollowedRun>& runs, int64_t bytes) {
  std::vector<WatchedRun> seen;
  for (FollowedRun& run : runs) seen.push_back(run.look(bytes));
  return seen;
}

FrameOptions options_of_terminal() {
  return {std::max(terminal_width(STDOUT_FILENO), kNarrowestTerminal), terminal_height(STDOUT_FILENO),
          shows_colour(STDOUT_FILENO)};
}

void print(const std::vector<WatchedRun>& runs, const FrameOptions& options) {
  for (const std::string& line : watch_frame(runs, options)) std::cout << line << '\n';
}

void show_live(std::vector<FollowedRun>& runs) {
  catch_stop_signals();
  std::vector<WatchedRun> seen;
  {
    FullScreen screen;
    bool leaves = false;
    while (!leaves && stop_signals_received() == 0 && std::cout) {
      seen = look_at(runs, kBytesAFrame);
      FullScreen::show(watch_frame(seen, options_of_terminal()));
      const bool reads = std::ranges::any_of(seen, &WatchedRun::reads);
      const bool goes_on = reads || std::ranges::any_of(seen, &WatchedRun::is_going_on);
      leaves = !goes_on || screen.wants_to_leave(reads ? 0 : kBetweenFrames);
    }
  }
  FrameOptions left = options_of_terminal();
  left.height = std::max(left.height - 1, 1);  // the shell's line comes below
  print(seen, left);
}

}  // namespace

ExitCode watch_runs(const std::vector<std::filesystem::path>& folders, WatchOutput output) {
  std::vector<FollowedRun> runs;
  for (const std::filesystem::path& folder : folders) runs.emplace_back(folder);
  if (output == WatchOutput::kLive) {
    show_live(runs);
  } else {
    const std::vector<WatchedRun> seen = look_at(runs, INT64_MAX);
    FrameOptions options = options_of_terminal();
    options.height = 0;
    if (output == WatchOutput::kJson)
      std::cout << event_text(watch_document(seen), 2) << '\n';
    else
      print(seen, options);
  }
  const bool stopped = stop_signals_received() > 0 && last_stop_signal() != SIGINT;
  return stopped ? ExitCode::kStopped : ExitCode::kDone;
}

}  // namespace dtrain
