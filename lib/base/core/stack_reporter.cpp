#include "core/stack_reporter.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr int kMostFrames = 64;
constexpr int kOwnFrames = 2;  // the handler, and the kernel's return from it
constexpr int kAnswering = -1;
constexpr time_t kAnswerSeconds = 1;
constexpr size_t kMostOfName = 160;

// Shared by the handler and the reporter's thread.
sem_t asked;                    // posted once for each SIGQUIT from outside
std::atomic<pid_t> wanted = 0;  // the thread that is asked for its stack; kAnswering while it answers
sem_t answered;
std::array<void*, kMostFrames> addresses;
int depth = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free, "handlers must not take locks");

pid_t own_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// After its first call, backtrace() needs neither a lock nor the heap (glibc 2.35 and GCC 12 or later).
extern "C" void on_quit(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (info->si_code != SI_TKILL || info->si_pid != ::getpid()) {
    ::sem_post(&asked);
  } else if (pid_t thread = own_thread(); wanted.compare_exchange_strong(thread, kAnswering)) {
    depth = ::backtrace(addresses.data(), kMostFrames);
    ::sem_post(&answered);
  }
  errno = error;
}

void wait_for(sem_t& semaphore) { TEMP_FAILURE_RETRY(::sem_wait(&semaphore)); }

// The return addresses of a thread, innermost first; empty if it does not answer.
std::vector<void*> stack_of(pid_t thread) {
  wanted = thread;
  if (::syscall(SYS_tgkill, ::getpid(), thread, SIGQUIT) != 0) return {};  // the thread has ended
  timespec deadline{};
  ::clock_gettime(CLOCK_MONOTONIC, &deadline);  // which nobody sets while we wait
  deadline.tv_sec += kAnswerSeconds;
  if (TEMP_FAILURE_RETRY(::sem_clockwait(&answered, CLOCK_MONOTONIC, &deadline)) != 0) {
    pid_t still = thread;
    if (wanted.compare_exchange_strong(still, 0)) return {};
    wait_for(answered);  // it has just begun to answer
  }
  const int first = std::min(depth, kOwnFrames);
  return std::vector<void*>(addresses.begin() + first, addresses.begin() + depth);
}

std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                    std::free);
  return printable(status == 0 ? name.get() : symbol, kMostOfName);
}

// "dtrain::Trainer::run(...) (dtrain+0x1234)"; the offset is for addr2line.
std::string describe_address(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", address);
  const std::string file = std::filesystem::path(info.dli_fname).filename().string();
  const auto offset = static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase);
  const std::string where = fmt::format("({}+{:#x})", printable(file), offset);
  return info.dli_sname == nullptr ? where : readable(info.dli_sname) + " " + where;
}

std::string describe_stack(const std::vector<void*>& stack) {
  std::string text;
  for (size_t i = 0; i < stack.size(); ++i) {
    // A return address may be the first one of the next function; the call is before it.
    const char* const address = static_cast<const char*>(stack[i]) - (i > 0 ? 1 : 0);
    text += fmt::format("    {}\n", describe_address(address));
  }
  return text.empty() ? "    does not answer: it has ended, or the kernel holds it\n" : text;
}

std::vector<pid_t> threads() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread != own_thread()) found.push_back(thread);
  }
  std::ranges::sort(found);  // the main thread first
  return found;
}

}  // namespace

StackReporter::StackReporter(std::function<std::string()> describe) : describe_(std::move(describe)) {
  ::sem_init(&asked, 0, 0);
  ::sem_init(&answered, 0, 0);
  ::backtrace(addresses.data(), kMostFrames);  // loads the libraries that it needs
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the other threads handle signals
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_quit;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGQUIT, &action, nullptr);
}

StackReporter::~StackReporter() {
  ending_ = true;
  ::sem_post(&asked);
  thread_.join();
  std::signal(SIGQUIT, SIG_IGN);
}

void StackReporter::run() {
  while (true) {
    wait_for(asked);
    while (::sem_trywait(&asked) == 0) {  // requests that came together get one answer
    }
    if (ending_) return;
    std::string text = fmt::format("{} SIGQUIT: {}\n", utc_time(), describe_());
    for (const pid_t thread : threads()) {
      std::string name;
      std::getline(std::ifstream(fmt::format("/proc/self/task/{}/comm", thread)), name);
      text += fmt::format("  thread {} ({}):\n{}", thread, printable(name), describe_stack(stack_of(thread)));
    }
    // Not through a logger: the thread that hangs may hold the logger's lock.
    write_all(STDERR_FILENO, text.data(), text.size());
  }
}

}  // namespace dtrain
