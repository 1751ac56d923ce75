#include "job.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "catch.h"

namespace dtrain {

namespace fs = std::filesystem;

const char* const kSmallSpec = R"(name: small
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [16]}
train: {epochs: 2, optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9}}
metrics: {every_steps: 5}
)";
const Arguments kEndless = {"--set", "train.epochs=1000000",         "--set", "data.train_examples=100000",
                            "--set", "evaluate.every_epochs=1000000"};

namespace {

constexpr double kStartSeconds = 120;  // on a busy machine

// Of /proc/PID/cmdline or environ: texts that each end with a NUL.
std::vector<std::string> texts_of(const fs::path& file) {
  std::vector<std::string> texts;
  std::istringstream all(content_of(file));
  for (std::string text; std::getline(all, text, '\0');) texts.push_back(text);
  return texts;
}

std::string value_of(const std::vector<std::string>& entries, const std::string& name) {
  for (const std::string& entry : entries) {
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

// utime and stime are the 14th and 15th field; the second one, in parentheses, may hold blanks.
double cpu_seconds_of(pid_t process) {
  const std::string text = content_of(fs::path("/proc") / std::to_string(process) / "stat");
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string free_port() {
  // Below those that the kernel gives to who asks for any: another could get it before the job has it.
  constexpr unsigned kFirst = 20'000, kPorts = 12'000;
  static unsigned next = static_cast<unsigned>(::getpid()) * 7919U;  // not that of other tests
  for (unsigned tries = 0; tries < kPorts; ++tries) {
    const auto port = static_cast<uint16_t>(kFirst + next++ % kPorts);
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      return std::to_string(port);
  }
  throw std::runtime_error("no free port");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::string last_line(const std::string& text) {
  const auto lines = lines_of(text);
  return lines.empty() ? "" : lines.back();
}

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Job::Job(const std::string& spec) { write_file(spec_file(), spec); }

Job::~Job() {
  for (const pid_t process : processes()) ::kill(process, SIGKILL);  // what a failed test left
}

fs::path Job::log(const std::string& run, int rank) const {
  return run_folder() / "logs" / (run + "-rank" + std::to_string(rank) + ".log");
}

Arguments Job::run(const Arguments& more) const {
  return Arguments{"run", spec_file().string(), "--run-dir", run_folder().string()} + more;
}

Arguments Job::set(const Arguments& overrides) {
  Arguments arguments;
  for (const std::string& override : overrides) arguments = arguments + Arguments{"--set", override};
  return arguments;
}

std::vector<Event> Job::events() const {
  std::string text = content_of(run_folder() / "metrics.jsonl");
  text.resize(text.rfind('\n') + 1);  // without the half line of a killed job
  std::vector<Event> events;
  for (const std::string& line : lines_of(text)) {
    Event event = Event::parse(line);
    const bool of_cores = event.at("event") == "warning" &&
                          event.at("text").get<std::string>().find(" processes share ") != std::string::npos;
    if (event.at("event") != "machine" && !of_cores) events.push_back(std::move(event));
  }
  return events;
}

std::vector<Event> Job::events(const std::string& kind, const std::string& run) const {
  std::vector<Event> all = events();
  const auto other = [&](const Event& event) {
    return event.at("event") != kind || (!run.empty() && event.at("run") != run);
  };
  all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
  return all;
}

Event Job::event(const std::string& kind, const std::string& run) const {
  const auto found = events(kind, run);
  REQUIRE(found.size() == 1);
  return found.front();
}

void Job::wait_for_step(const std::string& run) const {
  REQUIRE(eventually(kStartSeconds, [&] { return !events("step", run).empty(); }));
}

void Job::wait_for_connections(int worker) const {
  const fs::path log = run_folder() / "logs" / fmt::format("distributed-worker{}.log", worker);
  REQUIRE(eventually(kStartSeconds,
                     [&] { return content_of(log).find("connected to every server") != std::string::npos; }));
}

std::vector<pid_t> Job::processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || stop != name.data() + name.size()) continue;
    // A zombie has no command line: it runs no more.
    if (content_of(entry.path() / "cmdline").find(folder_.path().string()) != std::string::npos)
      found.push_back(process);
  }
  return found;
}

std::vector<ReplicaInfo> Job::replicas() const {
  std::vector<ReplicaInfo> found;
  for (const pid_t process : processes()) {
    const fs::path proc = fs::path("/proc") / std::to_string(process);
    const auto arguments = texts_of(proc / "cmdline");
    const std::string rank = value_of(texts_of(proc / "environ"), "RANK");
    if (arguments.size() < 5 || arguments[1] != "replica" || rank.empty()) continue;
    found.push_back({process, std::stoi(rank), arguments[4]});
  }
  return found;
}

std::optional<ReplicaInfo> Job::replica(int rank, const std::string& run) const {
  for (const ReplicaInfo& replica : replicas()) {
    if (replica.rank == rank && replica.run == run) return replica;
  }
  return std::nullopt;
}

ReplicaInfo Job::wait_for_replica(int rank, const std::string& run) const {
  std::optional<ReplicaInfo> found;
  REQUIRE(eventually(kStartSeconds, [&] { return (found = replica(rank, run)).has_value(); }));
  return *found;
}

bool Job::is_gone(double seconds) const {
  return eventually(seconds, [this] { return processes().empty(); });
}

}  // namespace dtrain
