// What happens around a job and is none of its business: strangers at its ports, a clock that is set. It
// trains what it trains undisturbed, bit for bit.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <iterator>
#include <set>
#include <sstream>

#include "catch.h"
#include "core/clock.h"
#include "core/random.h"
#include "hosts.h"
#include "resumable.h"
#include "sanitized.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const Arguments kLonger = Job::set({"train.epochs=30", "checkpoint.every_steps=100"});

// Where the job's processes listen, as the kernel tells it: IPv4 addresses and ports.
std::set<std::pair<in_addr_t, uint16_t>> doors_of(const Job& job) {
  std::set<std::string> sockets;
  for (const pid_t process : job.processes()) {
    std::error_code gone;
    fs::directory_iterator files(fs::path("/proc") / std::to_string(process) / "fd", gone);
    for (; !gone && files != fs::directory_iterator(); files.increment(gone)) {
      std::error_code closed;
      const std::string target = fs::read_symlink(files->path(), closed);
      if (target.rfind("socket:[", 0) == 0) sockets.insert(target.substr(8, target.size() - 9));
    }
  }
  std::set<std::pair<in_addr_t, uint16_t>> doors;
  for (const std::string& line : lines_of(content_of("/proc/net/tcp"))) {
    std::istringstream fields(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    constexpr size_t kLocal = 1, kState = 3, kInode = 9;
    if (words.size() <= kInode || words[kState] != "0A" || !sockets.contains(words[kInode])) continue;
    const std::string& local = words[kLocal];  // "0100007F:1F90"
    doors.emplace(static_cast<in_addr_t>(std::stoul(local, nullptr, 16)),
                  static_cast<uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return doors;
}

// People who try every door, and say all that is said to open ports.
class Strangers {
 public:
  int visits() const { return visits_; }

  void visit(in_addr_t address, uint16_t port) {
    std::string noise(65536, '\0');
    for (char& byte : noise) byte = static_cast<char>(random_.below(256));
    say(address, port, noise, /*leave=*/true);
    say(address, port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", true);
    say(address, port, "", false);
    say(address, port, std::string(64, '\x7f'), false);                   // the length of what never comes
    say(address, port, std::string("\x01\0\0\0\x40\0\0\0\0", 9), false);  // a command, and such a length
  }

  // Those who have stayed send another byte.
  void trickle() {
    for (const Descriptor& guest : guests_) {
      const char byte = static_cast<char>(random_.below(256));
      ::send(guest.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }

 private:
  void say(in_addr_t address, uint16_t port, const std::string& words, bool leave) {
    constexpr size_t kMostGuests = 60;
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = address;
    name.sin_port = htons(port);
    static_cast<void>(
        ::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name));  // poll tells
    pollfd done{socket.get(), POLLOUT, 0};
    if (::poll(&done, 1, 100) != 1 || (done.revents & POLLERR) != 0) return;  // it is not open to them
    ++visits_;
    ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!leave && guests_.size() < kMostGuests) guests_.push_back(std::move(socket));
  }

  RandomGenerator random_{11};
  std::vector<Descriptor> guests_;
  int visits_ = 0;
};

void visit_until_it_ends(const Job& job, Program& program) {
  Strangers strangers;
  const double deadline = steady_seconds() + 60;
  while (!program.has_ended() && steady_seconds() < deadline) {
    for (const auto& [address, port] : doors_of(job)) strangers.visit(address, port);
    strangers.trickle();
    eventually(0.01, [&] { return program.has_ended(); });
  }
  CHECK(strangers.visits() > 0);
}

TEST_CASE("strangers at the ports of a job do not change what it learns") {
  const Arguments arguments =
      kLonger + Job::set(GENERATE(Arguments{"strategy.communication=gloo"},
                                  Arguments{"strategy.kind=parameter_server", "strategy.workers=1",
                                            "strategy.servers=2", "strategy.min_shard_kib=1"}));
  const Job quiet, visited;
  require_done(run_program(quiet.run(arguments)));
  Program program(visited.run(arguments));
  visit_until_it_ends(visited, program);
  require_done(program.wait());
  CHECK(result_of(visited) == result_of(quiet));
}

TEST_CASE("strangers at the ports of two hosts do not change what they learn") {
  const Job quiet, visited;
  for (const Job* job : {&quiet, &visited}) {
    Hosts hosts(*job, 2);
    hosts.start(1, kLonger);
    Program& first = hosts.start(0, kLonger);
    if (job == &visited) visit_until_it_ends(*job, first);
    require_done(hosts.wait(0));
    require_done(hosts.wait(1));
  }
  CHECK(result_of(visited) == result_of(quiet));
}

ProgramOptions with_jumping_clock() {
  ProgramOptions options;
  options.environment = {{"LD_PRELOAD", DTRAIN_FAKES "/jumping_clock.so"}};
  return options;
}

// No number of an event is negative, and no time longer than a test takes.
void check_times(const std::vector<Event>& events) {
  std::set<std::string> days;
  for (const Event& event : events) {
    INFO(event_text(event));
    days.insert(event.at("time").get<std::string>().substr(0, 10));
    const Event flat = event.flatten();
    for (const auto& [path, value] : flat.items()) {
      if (!value.is_number()) continue;
      INFO(path);
      CHECK(value.get<double>() >= 0);
      if (path.find("_per_second") == std::string::npos && path.find("seconds") != std::string::npos)
        CHECK(value.get<double>() < 600);
    }
  }
  CHECK(days.size() >= 3);  // the clock did jump
}

TEST_CASE("a clock that jumps a year ahead and days back changes timestamps only") {
  if (kSanitized) return;  // its library has to be the first one
  const Arguments arguments =
      kLonger + Job::set(GENERATE(Arguments{"strategy.communication=shared_memory"},
                                  Arguments{"strategy.communication=gloo"},
                                  Arguments{"strategy.kind=parameter_server", "strategy.workers=1"}));
  const Job steady, jumping;
  require_done(run_program(steady.run(arguments)));
  require_done(run_program(jumping.run(arguments), with_jumping_clock()));
  CHECK(result_of(jumping) == result_of(steady));
  check_times(jumping.events());
  for (const char* command : {"report", "inspect"})
    require_done(run_program({command, jumping.run_folder().string()}, with_jumping_clock()));
  require_done(run_program({"watch", "--once", jumping.run_folder().string()}, with_jumping_clock()));
}

TEST_CASE("the replicas of a profile have one origin, whatever the clock says") {
  if (kSanitized) return;
  const Job job;
  require_done(run_program(job.run(Job::set({"callbacks.profile.start_step=5"})), with_jumping_clock()));
  const Event trace = Event::parse(content_of(job.run_folder() / "profile.json"));
  std::set<int> ranks;
  for (const Event& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ranks.insert(event.at("pid").get<int>());
    CHECK(event.at("ts") >= 0);
    CHECK(event.at("ts") < 600e6);
  }
  CHECK(ranks == std::set<int>{0, 1});
}

TEST_CASE("a stopped replica is missed after its time, and stacks are found, whatever the clock says") {
  if (kSanitized) return;
  const Job job;
  Program program(job.run(kEndless + Job::set({"strategy.timeout_seconds=3"})), with_jumping_clock());
  job.wait_for_step();
  program.send(SIGQUIT);
  const auto log_of = [&](int rank) { return content_of(job.log("distributed", rank)); };
  for (const int rank : {0, 1}) {
    REQUIRE(
        eventually(kSoon, [&] { return log_of(rank).find("dtrain::Trainer::run(") != std::string::npos; }));
    const std::string log = log_of(rank);
    int silent = 0;  // a thread may have ended meanwhile
    for (size_t at = 0; (at = log.find("does not answer", at)) != std::string::npos; ++at) ++silent;
    CHECK(silent <= 1);
  }
  ::kill(job.wait_for_replica(1).process, SIGSTOP);
  const Finished end = program.wait();
  CHECK(end.exit_code == 4);
  CHECK(end.seconds > 2);
  CHECK_THAT(end.errors, ContainsSubstring("rank 1 failed first: it did not answer"));
}

}  // namespace
}  // namespace dtrain
