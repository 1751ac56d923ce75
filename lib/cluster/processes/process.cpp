#include "processes/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "core/files.h"
#include "launch/identity.h"
#include "processes/supervisor.h"

namespace dtrain {
namespace {

constexpr int kReportPipeBytes = 1 << 20;

[[noreturn]] void fail(int error, const std::string& what) {
  const bool no_room = error == ENOMEM || error == EAGAIN;
  throw Error(no_room ? ExitCode::kMemory : file_failure_code(error),
              fmt::format("{}: {}", what, std::strerror(error)));
}

// Duplicates a descriptor to a number above those with a fixed meaning in a child, so that assigning the
// fixed numbers there cannot overwrite it.
Descriptor above_fixed(const Descriptor& original, const char* what) {
  Descriptor copy(::fcntl(original.get(), F_DUPFD_CLOEXEC, kBoardDescriptor + 1));
  if (copy.get() < 0) fail(errno, what);
  return copy;
}

Descriptor open_above_fixed(const std::string& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) fail(errno, fmt::format("cannot open {}", path));
  return above_fixed(file, path.c_str());
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno, "cannot make a pipe");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  pipe.write = above_fixed(pipe.write, "cannot make a pipe");
  return pipe;
}

std::vector<std::string> child_environment(const std::map<std::string, std::string>& added) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const char* const name : kTokenVariables) variables.erase(name);  // only for supervisors
  for (const auto& [name, value] : added) variables[name] = value;
  variables["DTRAIN_REPORT_FD"] = std::to_string(kReportDescriptor);
  variables["DTRAIN_BOARD_FD"] = std::to_string(kBoardDescriptor);
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Everything that a child needs, prepared before the fork. After the fork only async-signal-safe calls are
// allowed, because another thread may hold the allocator's lock.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int input, log, reports, board, error;
  pid_t parent;
};

[[noreturn]] void run_child(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent died before the prctl
  struct sigaction action {};
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  // Until a replica handles these requests, they must not end it.
  for (const int signal : {SIGUSR1, SIGQUIT}) ::sigaction(signal, &action, nullptr);
  if (hangup.sa_handler == SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);  // nohup applies to all processes
  ::dup2(launch.input, STDIN_FILENO);
  ::dup2(launch.log, STDOUT_FILENO);
  ::dup2(launch.log, STDERR_FILENO);
  ::dup2(launch.reports, kReportDescriptor);
  ::dup2(launch.board, kBoardDescriptor);
  // The child must not inherit what a library has opened in the parent (such as a listening socket).
  ::syscall(SYS_close_range, kBoardDescriptor + 1, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(launch.program, launch.arguments, launch.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t put = ::write(launch.error, &error, sizeof error);
  ::_exit(127);
}

// Blocks signals while there is a child that has our handlers but does not run its own program yet.
pid_t fork_child(const Launch& launch) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(launch);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) fail(error, "cannot start another process");
  return pid;
}

pid_t wait_for(pid_t which) { return static_cast<pid_t>(TEMP_FAILURE_RETRY(::waitpid(which, nullptr, 0))); }

}  // namespace

Process::Process(const ReplicaProcess& replica, int board_descriptor) {
  if (replica.arguments.empty()) throw Error(ExitCode::kBug, "a replica process without a program");
  const std::string& program = replica.program.empty() ? replica.arguments[0] : replica.program;
  const std::vector<std::string> environment = child_environment(replica.environment);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const std::vector<char*> argument_pointers = pointers_to(replica.arguments);
  const Descriptor input = open_above_fixed("/dev/null", O_RDONLY);
  const Descriptor log = open_above_fixed(replica.log.string(), O_WRONLY | O_CREAT | O_TRUNC);
  Descriptor board(::fcntl(board_descriptor, F_DUPFD_CLOEXEC, kBoardDescriptor + 1));
  if (board.get() < 0) fail(errno, "cannot pass on the status board");
  Pipe report = make_pipe();
  Pipe error = make_pipe();
  ::fcntl(report.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(report.write.get(), F_SETPIPE_SZ,
          kReportPipeBytes);  // ordinary users' pipes may be limited; then it stays smaller

  pid_ = fork_child({program.c_str(), argument_pointers.data(), environment_pointers.data(), input.get(),
                     log.get(), report.write.get(), board.get(), error.write.get(), ::getpid()});
  reports_ = std::move(report.read);
  error.write.reset();
  int reason = 0;  // why it could not be started; exec closes the pipe
  if (TEMP_FAILURE_RETRY(::read(error.read.get(), &reason, sizeof reason)) == ssize_t{sizeof reason}) {
    reap();
    fail(reason, fmt::format("cannot start {}", program));
  }
  exit_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Process::~Process() { reap(); }

void Process::send(int signal) const {
  if (pid_ > 0) ::kill(-pid_, signal);
}

void Process::tell(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

std::optional<ProcessEnd> Process::ended() const {
  siginfo_t info{};
  if (TEMP_FAILURE_RETRY(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT)) != 0)
    throw Error(ExitCode::kBug, "cannot watch process {}: {}", pid_, std::strerror(errno));
  if (info.si_pid == 0) return std::nullopt;
  return info.si_code == CLD_EXITED ? ProcessEnd{info.si_status, 0} : ProcessEnd{0, info.si_status};
}

bool Process::is_stopped() const {
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t name_end = text.rfind(") ");  // the process name before it may contain anything
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "T") == 0;
}

void Process::reap() {
  if (pid_ < 0) return;
  send(SIGKILL);
  wait_for(pid_);
  while (wait_for(-pid_) > 0) {  // the children that it left, which become ours within a ReapingScope
  }
  pid_ = -1;
}

ReapingScope::ReapingScope() : previous_handler_(std::signal(SIGCHLD, SIG_DFL)) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ReapingScope::~ReapingScope() {
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_);
  std::signal(SIGCHLD, previous_handler_);
}

}  // namespace dtrain
