// Where the output goes: a pipe whose reader leaves, a full device, a terminal with somebody at it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

TEST_CASE("a job whose reader is gone ends") {
  const bool json = GENERATE(false, true);
  const Job job;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  Descriptor reader(ends[0]), writer(ends[1]);
  ProgramOptions options;
  options.output = writer.get();
  Arguments arguments = kEndless + Job::set({"train.epochs=1000000", "data.train_examples=400"});
  if (json) arguments.emplace_back("--json");
  Program program(job.run(arguments), options);
  writer.reset();
  char first = 0;
  REQUIRE(::read(reader.get(), &first, 1) == 1);  // as `head -1` does
  reader.reset();
  const Finished run = program.wait(10);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("standard output cannot be written any more"));
  CHECK(lines_of(run.errors).size() == 1);
  CHECK(job.is_gone(0));
  CHECK(job.event("run_end", "distributed").at("status") == "failed");
}

TEST_CASE("output that finds no room is an error, even if it is the last table") {
  const Job job;
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full.get() >= 0);
  ProgramOptions options;
  options.output = full.get();
  const Finished run =
      run_program(job.run(Job::set({"compare.baseline=one_device"}) + Arguments{"--quiet"}), options);
  CHECK(run.exit_code == 9);
  CHECK(job.events("comparison").size() == 1);
  CHECK(std::filesystem::exists(job.run_folder() / "summary.json"));
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
