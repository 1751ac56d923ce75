#include "command_line.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>

#include "catch.h"
#include "cli/cli.h"
#include "core/descriptor.h"
#include "hidden_proc.h"
#include "launcher_variables.h"
#include "sanitized.h"

namespace dtrain {
namespace {

std::string content_of_descriptor(const Descriptor& file) {
  std::string text;
  std::array<char, 65536> bytes;
  ssize_t got;
  while ((got = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(bytes.data(), static_cast<size_t>(got));
  return text;
}

bool has_started_processes() {
  rusage ended{};
  ::getrusage(RUSAGE_CHILDREN, &ended);
  const bool none_left = ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
  return ended.ru_maxrss > 0 || !none_left;
}

void set_environment(const Surroundings& surroundings) {
  for (const char* name : kLauncherVariables) ::unsetenv(name);
  ::unsetenv("DTRAIN_DATA");
  for (const auto& [name, value] : surroundings.environment) ::setenv(name.c_str(), value.c_str(), 1);
}

[[noreturn]] void run_child(std::vector<std::string> arguments, const Surroundings& surroundings, int output,
                            int errors, int facts) {
  if (surroundings.without_proc && !hide_proc()) ::_exit(kProcStays);
  ::alarm(kSanitized ? 300U : 60U);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGALRM}) std::signal(signal, SIG_DFL);
  const Descriptor file(surroundings.output.empty()
                            ? -1
                            : ::open(surroundings.output.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ::dup2(file.get() >= 0 ? file.get() : output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  set_environment(surroundings);
  if (!surroundings.folder.empty()) std::filesystem::current_path(surroundings.folder);
  arguments.insert(arguments.begin(), "dtrain");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const int code = run_command_line(static_cast<int>(arguments.size()), pointers.data());
  std::cout.flush();  // as the end of main() does
  const bool started = has_started_processes();
  ::_exit(::write(facts, started ? "1" : "0", 1) == 1 ? code : 126);
}

}  // namespace

Outcome dtrain_command(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  const Descriptor output(::memfd_create("output", MFD_CLOEXEC));
  const Descriptor errors(::memfd_create("errors", MFD_CLOEXEC));
  const Descriptor facts(::memfd_create("facts", MFD_CLOEXEC));
  std::cout.flush();  // or the child would print what is waiting a second time
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) run_child(arguments, surroundings, output.get(), errors.get(), facts.get());
  int status = 0;
  rusage usage{};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content_of_descriptor(output),
          content_of_descriptor(errors), seconds(usage.ru_utime) + seconds(usage.ru_stime),
          content_of_descriptor(facts) == "1"};
}

}  // namespace dtrain
