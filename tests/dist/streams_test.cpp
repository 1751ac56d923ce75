// Where the output goes: a pipe whose reader leaves, a full device, a terminal with somebody at it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

constexpr int64_t kAllSteps = 1300;
const Arguments kManyEpochs = Job::set({"train.epochs=100"});  // 13 steps each

// Trained to the end, with one word about the output.
void check_complete(const Job& job) {
  CHECK(job.event("run_end", "distributed").at("steps") == kAllSteps);
  CHECK(job.events("step", "distributed").back().at("step") == kAllSteps);
  CHECK(job.events("epoch", "distributed").size() == 100);
  REQUIRE(job.events("warning").size() == 1);
  CHECK_THAT(job.events("warning")[0].at("text").get<std::string>(),
             ContainsSubstring("standard output cannot be written any more"));
  CHECK(std::filesystem::exists(job.run_folder() / "summary.json"));
}

TEST_CASE("a job whose reader is gone goes on to its end") {
  const bool json = GENERATE(false, true);
  const Job job;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Descriptor reader(ends[0]), writer(ends[1]);
  ProgramOptions options;
  options.output = writer.get();
  Program program(job.run(json ? kManyEpochs + Arguments{"--json"} : kManyEpochs), options);
  writer.reset();
  char first = 0;
  REQUIRE(::read(reader.get(), &first, 1) == 1);  // as `head -1` does
  reader.reset();
  const Finished run = program.wait();
  CHECK(run.exit_code == 0);
  CHECK(lines_of(run.errors).size() == 1);
  CHECK_THAT(run.errors, ContainsSubstring("standard output cannot be written any more"));
  check_complete(job);
}

TEST_CASE("a job trains without streams that take anything") {
  const Job job;
  ProgramOptions options;
  SECTION("all are closed") {
    options.before_exec = [] {
      for (const int stream : {0, 1, 2}) ::close(stream);
    };
  }
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Descriptor reader(ends[0]), writer(ends[1]);
  reader.reset();
  SECTION("both have lost their readers") { options.output = options.errors = writer.get(); }
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  SECTION("both are full") { options.output = options.errors = full.get(); }
  CHECK(run_program(job.run(kManyEpochs), options).exit_code == 0);
  check_complete(job);
}

TEST_CASE("a command whose output is its result fails when it cannot be written") {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Job job;
  ProgramOptions options;
  int expected = 2;
  SECTION("the device is full") {
    options.output = full.get();
    expected = 9;
  }
  SECTION("it is closed") {
    options.before_exec = [] { ::close(1); };
  }
  for (const Arguments& command : {Arguments{"schema"}, Arguments{"plan", job.spec_file().string()}}) {
    const Finished end = run_program(command, options);
    CHECK(end.exit_code == expected);
    CHECK_THAT(end.errors, ContainsSubstring("cannot write to the standard output"));
  }
}

TEST_CASE("on a terminal a progress line is drawn and taken away") {
  const Job job;
  Terminal terminal;
  ProgramOptions options;
  options.terminal = terminal.name();
  Program program(job.run(Job::set({"train.epochs=100"})), options);
  std::string shown;
  REQUIRE(eventually(30, [&] {
    shown = terminal.shown();  // read all the time: a full terminal would hold it up
    return program.has_ended();
  }));
  shown = terminal.shown();
  INFO(shown);
  CHECK(program.wait().exit_code == 0);
  const size_t line = shown.find("\rdistributed epoch ");
  REQUIRE(line != std::string::npos);
  CHECK_THAT(shown.substr(line), ContainsSubstring("/1300"));
  // The last drawing is wiped before the last lines are printed.
  const size_t last = shown.rfind("\rdistributed epoch ");
  const size_t wiped = shown.find("\r\x1b[K", last);
  REQUIRE(wiped != std::string::npos);
  CHECK(shown.find("END distributed: completed", wiped) != std::string::npos);
}

TEST_CASE("Ctrl-C typed into the terminal stops the job") {
  const Job job;
  Terminal terminal;
  ProgramOptions options;
  options.terminal = terminal.name();
  Program program(job.run(kEndless), options);
  REQUIRE(eventually(30, [&] { return terminal.shown().find("\rdistributed epoch ") != std::string::npos; }));
  terminal.type("\x03");
  REQUIRE(eventually(3, [&] {
    terminal.shown();
    return program.has_ended();
  }));
  const std::string& shown = terminal.shown();
  INFO(shown);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.is_gone(0));
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  const size_t wiped = shown.rfind("\x1b[K");
  REQUIRE(wiped != std::string::npos);
  CHECK_THAT(shown.substr(wiped), ContainsSubstring("stopped by SIGINT\r\n"));
}

}  // namespace
}  // namespace dtrain
