// The doctor, whose ssh is a stand-in that runs the program here.
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

std::vector<Event> findings_of(const std::string& output) {
  std::vector<Event> findings;
  for (const std::string& line : lines_of(output)) findings.push_back(Event::parse(line));
  return findings;
}

const Event* finding(const std::vector<Event>& findings, const std::string& check,
                     const std::string& host = "") {
  for (const Event& one : findings) {
    if (one.at("check") == check && one.at("host") == host) return &one;
  }
  return nullptr;
}

// A folder with an ssh of this text, first on PATH.
class FakeSsh {
 public:
  explicit FakeSsh(const Job& job, const std::string& text) {
    const auto folder = job.folder() / "bin";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "ssh") << "#!/bin/bash\nwhile [[ $1 != -- ]]; do shift; done\nhost=$2\n" << text;
    std::filesystem::permissions(folder / "ssh", std::filesystem::perms::owner_all);
    options.environment = {{"PATH", folder.string() + ":" + std::getenv("PATH")}};
  }
  ProgramOptions options;
};

TEST_CASE("a good host is well, and every check says so") {
  const std::string port = free_port();
  const Finished json = run_program({"doctor", "--json", "--port", port});
  INFO(json.output << json.errors);
  REQUIRE(json.exit_code == 0);
  const auto findings = findings_of(json.output);
  for (const char* check : {"program", "LibTorch", "devices", "cores", "memory", "shared memory",
                            "open files", "interfaces", "port", "dataset mnist", "dataset fashion_mnist",
                            "all-reduce by shared_memory", "all-reduce by gloo"}) {
    INFO(check);
    REQUIRE(finding(findings, check) != nullptr);
    CHECK(finding(findings, check)->at("ok") == true);
  }
  const Finished text = run_program({"doctor", "--port", port});
  CHECK_THAT(text.output, ContainsSubstring("OK     port                             " + port + " is free") &&
                              ContainsSubstring("all is well\n"));
}

TEST_CASE("an OpenSSL that is set up to have no SHA-256 is something to do") {
  const Job job;
  const auto file = job.folder() / "openssl.cnf";
  std::ofstream(file) << "openssl_conf = init\n[init]\nalg_section = algorithms\n[algorithms]\n"
                         "default_properties = there=none\n";
  ProgramOptions options;
  options.environment = {{"OPENSSL_CONF", file}};
  const Finished text = run_program({"doctor", "--port", free_port()}, options);
  CHECK(text.exit_code == 2);
  CHECK_THAT(text.output, ContainsSubstring("OpenSSL has no usable SHA-256 (unsupported)") &&
                              ContainsSubstring("the file that OPENSSL_CONF names"));
}

TEST_CASE("what is to be done is said, with exit code 2") {
  const Descriptor taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string port = free_port();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  REQUIRE(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(taken.get(), 1) == 0);
  const Job job;
  std::filesystem::create_directories(job.folder() / "mnist");
  std::ofstream(job.folder() / "mnist/train-images-idx3-ubyte") << "damaged";
  ProgramOptions options;
  options.environment = {{"DTRAIN_DATA", job.folder().string()}};
  const Finished end = run_program({"doctor", "--port", port}, options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(end.output, ContainsSubstring("TO DO  port") && ContainsSubstring("TO DO  dataset mnist") &&
                             ContainsSubstring("-> end what uses it, or set network.port") &&
                             ContainsSubstring("2 to do\n"));
}

TEST_CASE("hosts are compared, and try to sum with each other") {
  const Job job;
  // The word that the real one would hand to a shell there, out of reach of the limit on ssh's own output.
  const FakeSsh ssh(job, "ulimit -S -f unlimited\nexec bash -c \"${*:3}\"\n");
  const Finished end =
      run_program({"doctor", "--json", "--hosts", "127.0.0.1,127.0.0.2", "--port", free_port()}, ssh.options);
  INFO(end.output << end.errors);
  const auto findings = findings_of(end.output);
  for (const char* host : {"127.0.0.1", "127.0.0.2"}) {
    for (const char* check : {"ssh", "program", "all-reduce by gloo", "all-reduce by shared_memory"}) {
      REQUIRE(finding(findings, check, host) != nullptr);
      CHECK(finding(findings, check, host)->at("ok") == true);
    }
    // Tried, but no host reaches others at a loopback address: tests/dist/hosts.sh has real ones.
    REQUIRE(finding(findings, "all-reduce between hosts", host) != nullptr);
  }
  CHECK(finding(findings, "same program", "127.0.0.2")->at("ok") == true);
}

TEST_CASE("a link that is slower than the others is something to do") {
  const Job job;
  const FakeSsh ssh(job, R"(
if [[ $* == *doctor-host* ]]; then
  echo '{"latency_us":1,"bus_gb_per_second":1,"links":[100,1.5,110,0.25,900,1.25]}'
else
  echo '{"event":"finding","host":"","check":"program","ok":true,"text":"dtrain 9","advice":"","identity":"9"}'
fi
)");
  const Finished end = run_program({"doctor", "--hosts", "a,b,c"}, ssh.options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(
      end.output,
      ContainsSubstring("OK     link a - b                            100 us round trip     1.500 GB/s\n") &&
          ContainsSubstring(
              "TO DO  link a - c                            110 us round trip     0.250 GB/s\n") &&
          ContainsSubstring("-> its transfers take several times as long") &&
          ContainsSubstring(
              "TO DO  link b - c                            900 us round trip     1.250 GB/s\n") &&
          ContainsSubstring("-> its round trips take several times as long") &&
          ContainsSubstring("2 to do\n"));
  const Finished json = run_program({"doctor", "--json", "--hosts", "a,b,c"}, ssh.options);
  const auto findings = findings_of(json.output);
  REQUIRE(finding(findings, "link a - c") != nullptr);
  CHECK(finding(findings, "link a - c")->at("round_trip_us") == 110);
  CHECK(finding(findings, "link a - c")->at("gb_per_second") == 0.25);
  // As many numbers as no two hosts can have.
  CHECK_THAT(run_program({"doctor", "--hosts", "a,b"}, ssh.options).output, !ContainsSubstring("link"));
}

TEST_CASE("lines that shells and ssh print are no answers, and no reasons") {
  const Job job;
  const FakeSsh talkative(job, R"(
echo Welcome
echo 'Warning: a banner' >&2
[[ $* == *doctor-host* && $host == b ]] && { echo 'the reason' >&2; exit 4; }
if [[ $* == *doctor-host* ]]; then
  echo '{"latency_us":1,"bus_gb_per_second":2,"links":[100,1.5]}'
else
  echo '{"event":"finding","host":"","check":"program","ok":true,"text":"dtrain 9","advice":"","identity":"9"}'
fi
)");
  CHECK_THAT(run_program({"doctor", "--hosts", "a,b"}, talkative.options).output,
             ContainsSubstring("OK     a: all-reduce between hosts      1 us for 8 bytes; 2.000 GB/s") &&
                 ContainsSubstring("TO DO  b: all-reduce between hosts      the reason\n") &&
                 ContainsSubstring("OK     link a - b "));
}

TEST_CASE("a first host that measures nothing is something to do") {
  const Job job;
  const FakeSsh ssh(job, R"(
[[ $* == *doctor-host* ]] ||
  echo '{"event":"finding","host":"","check":"program","ok":true,"text":"dtrain 9","advice":"","identity":"9"}'
)");
  const Finished end = run_program({"doctor", "--hosts", "a,b"}, ssh.options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(end.output, ContainsSubstring("TO DO  a: all-reduce between hosts") &&
                             ContainsSubstring("OK     b: all-reduce between hosts"));
}

TEST_CASE("a host that differs is named") {
  const Job job;
  const FakeSsh ssh(job, R"(
if [[ $host == b ]]; then
  echo '{"event":"finding","host":"","check":"program","ok":true,"text":"dtrain 9","advice":"","identity":"9"}'
else
  echo '{"event":"finding","host":"x","check":"program","ok":true,"text":"dtrain 8","advice":"","identity":"8"}'
fi
)");
  const Finished end = run_program({"doctor", "--hosts", "a,b"}, ssh.options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(end.output,
             ContainsSubstring("TO DO  b: same program") && ContainsSubstring("dtrain 9; on a: dtrain 8"));
}

TEST_CASE("hosts that ssh does not reach, or that have no dtrain, are told apart") {
  const Job job;
  const FakeSsh ssh(job,
                    "[[ $host == a ]] && { printf 'connection refused\\r\\n' >&2; exit 255; }\n"
                    "printf 'no such \\033[31mfile\\n' >&2; exit 127\n");
  const Finished end = run_program({"doctor", "--hosts", "a,b"}, ssh.options);
  CHECK(end.exit_code == 2);
  CHECK_THAT(end.output, ContainsSubstring("connection refused") &&
                             ContainsSubstring("`ssh -o BatchMode=yes a true` has to work") &&
                             ContainsSubstring("no such \\x1b[31mfile") && !ContainsSubstring("\\x0d") &&
                             ContainsSubstring("install the same dtrain under this path"));
}

TEST_CASE("a stop signal ends the doctor, who says nothing of the hosts that have not answered yet") {
  const Job job;
  const FakeSsh ssh(job, "touch " + (job.folder() / "asked-").string() + "$host; exec sleep 600\n");
  Program program({"doctor", "--hosts", "a,b,c"}, ssh.options);
  for (const char* asked : {"asked-a", "asked-b", "asked-c"})
    REQUIRE(eventually(kSoon, [&] { return std::filesystem::exists(job.folder() / asked); }));
  program.send(SIGTERM);
  const Finished end = program.wait();
  CHECK(end.exit_code == 75);
  CHECK(end.output.empty());
  CHECK(end.errors == "dtrain: stopped by a signal\n");
}

TEST_CASE("names that are no hosts never reach ssh") {
  const Job job;
  const FakeSsh ssh(job, "touch " + (job.folder() / "called").string() + "\n");
  for (const char* hosts : {"a,-oProxyCommand=id", "a,b;id", "a,$(id)", "a,b\nc", "a"}) {
    const Finished end = run_program({"doctor", "--hosts", hosts}, ssh.options);
    CHECK(end.exit_code == 2);
    CHECK_THAT(end.errors, ContainsSubstring("--hosts"));
  }
  CHECK_FALSE(std::filesystem::exists(job.folder() / "called"));
}

TEST_CASE("answers of hosts that make no sense are no findings") {
  const Job job;
  const FakeSsh ssh(job, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '{\"event\":\"finding\"}'\n");
  const Finished end = run_program({"doctor", "--hosts", "a,b"}, ssh.options);
  CHECK(end.exit_code == 2);
  CHECK(end.output.size() < 10000);
}

}  // namespace
}  // namespace dtrain
