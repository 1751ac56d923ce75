#include "diagnostics/remote_command.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/signals.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr rlim_t kMostOutput = 1 << 20;
constexpr long kLookNanoseconds = 20'000'000;
constexpr int kNoProgram = 127;

Descriptor memory_file() {
  Descriptor file(::memfd_create("dtrain-ssh", MFD_CLOEXEC));
  if (file.get() < 0) throw Error(ExitCode::kMemory, "memfd_create: {}", std::strerror(errno));
  return file;
}

std::string content_of(const Descriptor& file) {
  std::string text;
  std::array<char, 65536> bytes;
  ssize_t got;
  while ((got = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(bytes.data(), static_cast<size_t>(got));
  return text;
}

[[noreturn]] void become_ssh(char* const* arguments, int input, int output, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min<rlim_t>(kMostOutput, limit.rlim_max);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_DFL);  // too much output ends it
  ::execvp(arguments[0], arguments);
  ::_exit(kNoProgram);
}

}  // namespace

RemoteCommand::RemoteCommand(const std::string& host, const std::vector<std::string>& arguments,
                             const std::optional<std::string>& ssh_configuration, const std::string& input)
    : output_(memory_file()), errors_(memory_file()) {
  std::vector<std::string> all = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
  if (ssh_configuration) all.insert(all.end(), {"-F", *ssh_configuration});
  all.insert(all.end(), {"--", host});
  for (const std::string& argument : arguments) all.push_back(shell_word(argument));
  std::vector<char*> pointers;
  for (std::string& text : all) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const Descriptor stdin_file = memory_file();
  if (::write(stdin_file.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      ::lseek(stdin_file.get(), 0, SEEK_SET) != 0)
    throw Error(ExitCode::kMemory, "memfd: {}", std::strerror(errno));
  process_ = ::fork();
  if (process_ == 0) become_ssh(pointers.data(), stdin_file.get(), output_.get(), errors_.get());
  if (process_ < 0) throw Error(ExitCode::kMemory, "fork: {}", std::strerror(errno));
}

RemoteCommand::~RemoteCommand() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

RemoteCommand::Result RemoteCommand::finish(double seconds) {
  const double deadline = steady_seconds() + seconds;
  const int stops = stop_signals_received();
  int status = 0;
  pid_t ended;
  while ((ended = ::waitpid(process_, &status, WNOHANG)) == 0 && steady_seconds() < deadline &&
         stop_signals_received() == stops) {
    const timespec pause{0, kLookNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  Result result{-1, content_of(output_), content_of(errors_)};
  if (ended != process_) return result;  // the destructor ends ssh
  process_ = -1;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace dtrain
