// The part of the doctor that checks other hosts.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>

#include "comm/gloo_group.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "crypto/crypto.h"
#include "diagnostics/doctor.h"
#include "metrics/statistics.h"
#include "store/store.h"

namespace dtrain {
namespace {

constexpr rlim_t kMostOutput = 1 << 20;
constexpr int kNoProgram = 127;

// Of the links between hosts.
constexpr int64_t kMostFullyJoined = 16;  // ranks; they have 120 links
constexpr int kRounds = 50;
constexpr int64_t kFirstBytes = int64_t{64} << 10;
constexpr int64_t kLastBytes = int64_t{64} << 20;
constexpr double kLongEnough = 0.1;  // seconds, of one message there and back
constexpr int64_t kEnd = -1;

Descriptor memory_file() {
  Descriptor file(::memfd_create("dtrain-ssh", MFD_CLOEXEC));
  if (file.get() < 0) throw Error(ExitCode::kMemory, "memfd_create: {}", std::strerror(errno));
  return file;
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

// Runs a command on another host, by ssh.
class RemoteCommand {
 public:
  // Starts `ssh` from PATH, without a local shell; the remote shell gets every argument quoted. `host` must
  // satisfy is_host() (host/hosts.h). `input`, at most a few kilobytes, becomes the command's standard input.
  // Throws Error(kUsage) if ssh is not installed, and Error(kMemory) if there is no room for a process.
  RemoteCommand(const std::string& host, const std::vector<std::string>& arguments,
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
  ~RemoteCommand() {
    if (process_ < 0) return;  // else ends ssh
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  struct Result {
    int exit_code = 0;   // 255: ssh itself failed; 128 + N: signal N; -1: not finished in time
    std::string output;  // at most 1 MiB, as are the errors
    std::string errors;
  };
  // Waits for at most `seconds`, or until a stop signal has arrived (core/signals.h), and then ends ssh.
  Result finish(double seconds) {
    const double deadline = steady_seconds() + seconds;
    int status = 0;
    pid_t ended;
    while ((ended = ::waitpid(process_, &status, WNOHANG)) == 0 && steady_seconds() < deadline &&
           stop_signals_received() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    Result result{-1, content_of(output_.get()), content_of(errors_.get())};
    if (ended != process_) return result;  // the destructor ends ssh
    process_ = -1;
    result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
  }

 private:
  pid_t process_ = -1;
  Descriptor output_;
  Descriptor errors_;
};

constexpr double kExaminationSeconds = 60;
constexpr double kMeetingSeconds = 15;
constexpr double kBenchSeconds = 60;
constexpr double kLinkSeconds = 2;
constexpr int kWarmUpRounds = 3;
constexpr int64_t kSmall = 2;        // elements; measures the latency
constexpr int64_t kLarge = 1 << 20;  // elements of four bytes; measures the bandwidth of quick links

// What ended a command: banners and warnings of ssh come before it.
std::string last_line(const std::string& errors) {
  const std::string text = trimmed(errors);  // ssh ends lines as terminals do
  const std::string line = text.substr(text.rfind('\n') + 1);
  return line.empty() ? "it said nothing" : printable(line, 500);
}

// What the first host measured; null: nothing. Its shell may print lines, too.
Event measured_in(const std::string& output) {
  for (const std::string& line : split_lines(output)) {
    Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    if (number_at(event, "latency_us")) return event;
  }
  return Event();
}

Finding reached(const std::string& host, const DoctorOptions& options, const RemoteCommand::Result& result,
                bool examined) {
  Finding finding{host, "ssh", examined, "reaches it, and dtrain runs there", "", ""};
  if (examined) return finding;
  const bool ssh = result.exit_code == 255;
  finding.text = result.exit_code < 0
                     ? fmt::format("no answer within {}", human_duration(kExaminationSeconds))
                     : last_line(result.errors);
  finding.advice =
      ssh || result.exit_code < 0
          ? fmt::format(
                "`ssh -o BatchMode=yes {} true` has to work: see its name, address, keys and known_hosts",
                host)
          : fmt::format(
                "{} has to run there: install the same dtrain under this path, or name it with --program",
                options.program);
  return finding;
}

// The findings of one host about itself; all of them are passed on.
std::vector<Finding> examine_host(const std::string& host, const DoctorOptions& options,
                                  RemoteCommand& command, const OnFinding& on_finding) {
  const RemoteCommand::Result result = command.finish(kExaminationSeconds);
  std::vector<Finding> findings;
  for (const std::string& line : split_lines(result.output)) {
    if (auto finding = finding_from(line)) {
      finding->host = host;
      findings.push_back(*finding);
    }
  }
  on_finding(reached(host, options, result, !findings.empty()));
  for (const Finding& finding : findings) on_finding(finding);
  return findings;
}

// Checks that a host has the same as the first one.
void compare(const std::vector<Finding>& first, const std::vector<Finding>& other,
             const OnFinding& on_finding) {
  for (const Finding& own : other) {
    if (own.identity.empty()) continue;
    const auto same = std::ranges::find(first, own.check, &Finding::check);
    if (same == first.end()) continue;
    const bool equal = same->identity == own.identity;
    on_finding({own.host, "same " + own.check, equal,
                equal ? fmt::format("as on {}", same->host)
                      : fmt::format("{}; on {}: {}", own.text, same->host, same->text),
                "install the same on every host", ""});
  }
}

// `numbers`: two for each link, as the first host sends them. Links slower than the others are to be fixed.
void report_links(const Event& numbers, const std::vector<std::string>& hosts, const OnFinding& on_finding) {
  constexpr double kLeastMoreUs = 200;
  std::vector<LinkSpeed> links = links_among(std::ssize(hosts));
  if (!numbers.is_array() || numbers.size() != 2 * links.size()) return;
  std::vector<double> round_trips, transfers;  // microseconds; of a kilobyte
  for (size_t i = 0; i < links.size(); ++i) {
    links[i].round_trip_us = as_number(numbers[2 * i]).value_or(0);
    links[i].gb_per_second = as_number(numbers[2 * i + 1]).value_or(0);
    round_trips.push_back(links[i].round_trip_us);
    transfers.push_back(1 / std::max(links[i].gb_per_second, 1e-9));
  }
  for (size_t i = 0; i < links.size(); ++i) {
    const auto& [first, second, round_trip_us, gb_per_second] = links[i];
    const bool late = stands_out(round_trips, i, kLeastMoreUs);
    on_finding(
        {"",
         fmt::format("link {} - {}", hosts[static_cast<size_t>(first)], hosts[static_cast<size_t>(second)]),
         !late && !stands_out(transfers, i, 0),
         fmt::format("{:>8.0f} us round trip {:>9.3f} GB/s", round_trip_us, gb_per_second),
         fmt::format(
             "its {} take several times as long as those of the median link: see its cables, switches "
             "and route, and what else uses them",
             late ? "round trips" : "transfers"),
         "", Event{{"round_trip_us", round_trip_us}, {"gb_per_second", gb_per_second}}});
  }
}

void measure_between(const DoctorOptions& options, const OnFinding& on_finding) {
  const std::string token = hexadecimal(random_bytes(kSha256Bytes));
  std::vector<std::unique_ptr<RemoteCommand>> commands;
  for (size_t index = 0; index < options.hosts.size(); ++index) {
    const std::vector<std::string> arguments = {
        options.program, "doctor-host",         "--hosts", join(options.hosts, ","),
        "--index",       std::to_string(index), "--port",  std::to_string(options.port)};
    commands.push_back(std::make_unique<RemoteCommand>(options.hosts[index], arguments,
                                                       options.ssh_configuration, token + "\n"));
  }
  const double seconds =
      kBenchSeconds + kLinkSeconds * static_cast<double>(links_among(std::ssize(commands)).size());
  Event measured;
  for (size_t index = 0; index < commands.size(); ++index) {
    const RemoteCommand::Result result = commands[index]->finish(seconds);
    if (index == 0) measured = measured_in(result.output);
    Finding finding{options.hosts[index],
                    "all-reduce between hosts",
                    result.exit_code == 0 && (index > 0 || measured.is_object()),
                    "takes part",
                    "",
                    ""};
    if (index == 0)
      finding.text = fmt::format("{:.0f} us for {} bytes; {:.3f} GB/s bus bandwidth for {}",
                                 number_at(measured, "latency_us").value_or(0), 4 * kSmall,
                                 number_at(measured, "bus_gb_per_second").value_or(0),
                                 human_bytes(integer_at(measured, "bytes").value_or(4 * kLarge)));
    if (!finding.ok) {
      finding.text = last_line(result.errors);
      finding.advice = fmt::format(
          "the hosts have to reach each other at port {} and those that the system gives out: see firewalls, "
          "and what the names resolve to on each host",
          options.port);
    }
    on_finding(finding);
  }
  if (measured.contains("links")) report_links(measured["links"], options.hosts, on_finding);
}

// The median of the times, in seconds, as all ranks know it.
double measure(ProcessGroup& group, int64_t elements, int iterations) {
  at::Tensor tensor = at::empty({elements}, at::kFloat);
  std::vector<double> seconds;
  for (int i = -kWarmUpRounds; i < iterations; ++i) {
    tensor.fill_(static_cast<float>(group.rank() + 1));
    group.barrier();
    const double started = steady_seconds();
    group.all_reduce_sum(tensor);
    if (i >= 0) seconds.push_back(steady_seconds() - started);
    const int64_t expected = group.size() * (group.size() + 1) / 2;
    if (!tensor.eq(expected).all().item<bool>())
      throw Error(ExitCode::kBug, "the all-reduce between hosts gives wrong sums");
  }
  at::Tensor mean = at::full({1}, median(seconds).value_or(0) / group.size(), at::kDouble);
  group.all_reduce_sum(mean);
  return mean.item<double>();
}

// One end of a link. Before each message its size goes there and back.
class LinkEnd {
 public:
  LinkEnd(GlooGroup& group, int64_t other)
      : backend_(group.c10d_group()->getBackend(c10::DeviceType::CPU)), other_(static_cast<int>(other)) {}

  void measure(LinkSpeed& link) {
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) least = std::min(least, announce(0));
    double seconds = 0;
    for (int64_t bytes = kFirstBytes; bytes <= kLastBytes && seconds < kLongEnough; bytes *= 2) {
      announce(bytes);
      seconds = there_and_back(message_.narrow(0, 0, bytes));
      link.gb_per_second = 2 * static_cast<double>(bytes) / seconds / 1e9;  // of the largest one
    }
    announce(kEnd);
    link.round_trip_us = least * 1e6;
  }

  void answer() {
    do {
      send_back(size_);
      if (bytes() > 0) send_back(message_.narrow(0, 0, bytes()));
    } while (bytes() != kEnd);
  }

 private:
  int64_t bytes() const { return size_.item<int64_t>(); }

  double announce(int64_t bytes) {
    size_.fill_(bytes);
    return there_and_back(size_);
  }

  double there_and_back(const at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    const double started = steady_seconds();
    backend_->send(tensors, other_, /*tag=*/0)->wait();
    backend_->recv(tensors, other_, /*tag=*/0)->wait();
    return steady_seconds() - started;
  }

  void send_back(const at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    backend_->recv(tensors, other_, /*tag=*/0)->wait();
    backend_->send(tensors, other_, /*tag=*/0)->wait();
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  int other_;
  at::Tensor size_ = at::zeros({1}, at::kLong);
  at::Tensor message_ = at::zeros({kLastBytes}, at::kByte);
};

}  // namespace

std::vector<LinkSpeed> links_among(int64_t ranks) {
  std::vector<LinkSpeed> links;
  for (int64_t i = 0; i < ranks; ++i) {
    if (ranks > kMostFullyJoined) links.push_back({i, (i + 1) % ranks});
    for (int64_t j = i + 1; j < ranks && ranks <= kMostFullyJoined; ++j) links.push_back({i, j});
  }
  return links;
}

std::vector<LinkSpeed> measure_links(GlooGroup& group) {
  std::vector<LinkSpeed> links = links_among(group.size());
  at::Tensor numbers = at::zeros({2 * std::ssize(links)}, at::kDouble);
  auto* const values = numbers.mutable_data_ptr<double>();
  for (size_t i = 0; i < links.size(); ++i) {
    group.barrier();
    with_peer_errors("measuring a link", [&] {
      if (group.rank() == links[i].first) LinkEnd(group, links[i].second).measure(links[i]);
      if (group.rank() == links[i].second) LinkEnd(group, links[i].first).answer();
    });
    values[2 * i] = links[i].round_trip_us;
    values[2 * i + 1] = links[i].gb_per_second;
  }
  group.all_reduce_sum(numbers);
  for (size_t i = 0; i < links.size(); ++i) {
    links[i].round_trip_us = values[2 * i];
    links[i].gb_per_second = values[2 * i + 1];
  }
  return links;
}

void examine_hosts(const DoctorOptions& options, const OnFinding& on_finding) {
  std::vector<std::unique_ptr<RemoteCommand>> commands;
  for (const std::string& host : options.hosts) {
    const std::vector<std::string> arguments = {options.program, "doctor", "--json", "--port",
                                                std::to_string(options.port)};
    commands.push_back(std::make_unique<RemoteCommand>(host, arguments, options.ssh_configuration, ""));
  }
  std::vector<std::vector<Finding>> findings;
  for (size_t index = 0; index < commands.size(); ++index)
    findings.push_back(examine_host(options.hosts[index], options, *commands[index], on_finding));
  if (std::ranges::any_of(findings, [](const auto& one) { return one.empty(); })) return;
  for (size_t index = 1; index < findings.size(); ++index) compare(findings[0], findings[index], on_finding);
  measure_between(options, on_finding);
}

std::optional<Event> take_part_in_examination(Identity identity, const MeetingOptions& meeting) {
  JobPlan job;
  RunPlan& run = job.runs.emplace_back();
  run.strategy = "multi_worker_mirrored";
  run.replicas = identity.world_size;
  job.spec.network.rendezvous_timeout_seconds = kMeetingSeconds;
  const StorePtr store = meet_replicas(job, identity, meeting);
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(kMeetingSeconds * 1000));
  const auto group = make_gloo_group(store, identity.rank, identity.world_size, timeout,
                                     {.address = identity.own_address, .members = identity.members});
  const double latency = measure(*group, kSmall, 50);
  int64_t elements = kFirstBytes / 4;
  double large = measure(*group, elements, 10);
  while (large < kLongEnough && elements < kLarge) large = measure(*group, elements *= 4, 10);
  Event links = Event::array();
  for (const LinkSpeed& link : measure_links(*group)) {
    links.push_back(link.round_trip_us);
    links.push_back(link.gb_per_second);
  }
  if (identity.rank != 0) return std::nullopt;
  const double n = identity.world_size;
  return Event{{"event", "all_reduce_between_hosts"},
               {"latency_us", latency * 1e6},
               {"bytes", 4 * elements},
               {"bus_gb_per_second", 4 * static_cast<double>(elements) / large / 1e9 * 2 * (n - 1) / n},
               {"links", links}};
}

}  // namespace dtrain
