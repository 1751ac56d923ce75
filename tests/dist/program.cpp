#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <stdexcept>

#include "catch.h"
#include "core/clock.h"
#include "files.h"
#include "launcher_variables.h"

namespace dtrain {
namespace {

constexpr long kLookInterval = 2'000'000;  // nanoseconds

Descriptor memory_file(const char* name) { return Descriptor(::memfd_create(name, MFD_CLOEXEC)); }

std::string content_of_descriptor(const Descriptor& file) {
  std::string text;
  std::array<char, 65536> bytes;
  ssize_t got;
  while ((got = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(text.size()))) > 0) {
    text.append(bytes.data(), static_cast<size_t>(got));
  }
  return text;
}

// Whatever the tests themselves run under must not reach the program.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const char* name : kLauncherVariables) variables.erase(name);
  for (const char* name : {"DTRAIN_DATA", "NO_COLOR", "OMP_NUM_THREADS"}) variables.erase(name);
  static const TemporaryFolder cache;  // not the user's
  variables["XDG_CACHE_HOME"] = cache.path().string();
  for (const auto& [name, value] : added) variables[name] = value;
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

[[noreturn]] void run_child(const ProgramOptions& options, int output, int errors, char* const* arguments,
                            char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int input = ::open("/dev/null", O_RDONLY);
  if (!options.terminal.empty()) {
    ::setsid();  // whose first terminal becomes the controlling one
    input = output = errors = ::open(options.terminal.c_str(), O_RDWR);
  }
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGUSR1, SIGQUIT}) std::signal(signal, SIG_DFL);
  if (!options.working_folder.empty() && ::chdir(options.working_folder.c_str()) != 0) ::_exit(126);
  if (options.before_exec) options.before_exec();
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

bool eventually(double seconds, const std::function<bool()>& condition) {
  const double deadline = steady_seconds() + seconds;
  while (!condition()) {
    if (steady_seconds() > deadline) return condition();
    const timespec pause{0, kLookInterval};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

Program::Program(const std::vector<std::string>& arguments, const ProgramOptions& options,
                 const std::string& program)
    : output_(memory_file("output")), errors_(memory_file("errors")) {
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> environment = environment_with(options.environment);
  const std::vector<char*> argument_pointers = pointers_to(all);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const int output = options.output >= 0 ? options.output : output_.get();
  const int errors = options.errors >= 0 ? options.errors : errors_.get();
  process_ = ::fork();
  if (process_ == 0)
    run_child(options, output, errors, argument_pointers.data(), environment_pointers.data());
  if (process_ < 0) throw std::runtime_error("cannot fork");
}

Program::~Program() {
  if (has_ended()) return;
  send(SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Program::send(int signal) const { ::kill(process_, signal); }

bool Program::has_ended() {
  int status = 0;
  if (!status_ && ::waitpid(process_, &status, WNOHANG) == process_) status_ = status;
  return status_.has_value();
}

Finished Program::wait(double seconds) {
  const double start = steady_seconds();
  if (!eventually(seconds, [this] { return has_ended(); })) {
    FAIL("still running after " << seconds << " s; its output:\n" << output() << "its errors:\n" << errors());
  }
  const int code = WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  return {code, output(), errors(), steady_seconds() - start};
}

std::string Program::output() const { return content_of_descriptor(output_); }
std::string Program::errors() const { return content_of_descriptor(errors_); }

Finished run_program(const std::vector<std::string>& arguments, const ProgramOptions& options,
                     double seconds) {
  return Program(arguments, options).wait(seconds);
}

Terminal::Terminal(int columns) : person_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
  if (person_.get() < 0 || ::grantpt(person_.get()) != 0 || ::unlockpt(person_.get()) != 0)
    throw std::runtime_error("cannot make a terminal");
  name_ = ::ptsname(person_.get());
  const winsize size{24, static_cast<unsigned short>(columns), 0, 0};
  ::ioctl(person_.get(), TIOCSWINSZ, &size);
}

void Terminal::type(const std::string& text) const {
  if (::write(person_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot type");
}

const std::string& Terminal::shown() {
  std::array<char, 4096> bytes;
  ssize_t got;
  while ((got = ::read(person_.get(), bytes.data(), bytes.size())) > 0) {
    shown_.append(bytes.data(), static_cast<size_t>(got));
  }
  return shown_;
}

}  // namespace dtrain
