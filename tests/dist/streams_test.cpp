// Where the output goes: a pipe whose reader leaves, a full device, a terminal with somebody at it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

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

TEST_CASE("on a terminal man shows a manual page, or the command's help takes its place") {
  const TemporaryFolder folder;
  const auto shown = [&](const std::string& man) {
    write_file(folder / "man", "#!/bin/sh\n" + man + "\n");
    std::filesystem::permissions(folder / "man", std::filesystem::perms::owner_all);
    Terminal terminal;
    ProgramOptions options;
    options.terminal = terminal.name();
    options.environment = {{"PATH", folder.path().string() + ":" + std::getenv("PATH")}, {"TERM", "xterm"}};
    CHECK(Program({"manual", "run"}, options).wait().exit_code == 0);
    return terminal.shown();
  };
  const std::string page = shown("[ \"$*\" = '-l -' ] && sed -n 's/^.TH/the page/p'");
  CHECK_THAT(page, ContainsSubstring("the page DTRAIN\\-RUN 1") && !ContainsSubstring("Usage"));
  const std::string help = shown("cat >/dev/null; exit 16");
  CHECK_THAT(help, ContainsSubstring("--resume") && !ContainsSubstring(".TH"));
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
  REQUIRE(eventually(kSoon, [&] {
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

// What stays of the output of a program on a terminal: lines that were drawn over are gone.
std::vector<std::string> lines_left(const std::string& shown) {
  std::vector<std::string> left;
  for (const std::string& line : lines_of(shown)) {
    const size_t end = line.find_last_not_of('\r') + 1;
    left.push_back(line.substr(0, end).substr(line.substr(0, end).rfind('\r') + 1));
    if (left.back().rfind("\x1b[K", 0) == 0) left.back().erase(0, 3);
  }
  return left;
}

std::string on_terminal(int columns, const Arguments& arguments,
                        const std::map<std::string, std::string>& variables, int exit_code = 0) {
  Terminal terminal(columns);
  ProgramOptions options;
  options.terminal = terminal.name();
  options.environment = variables;
  Program program(arguments, options);
  REQUIRE(eventually(kSoon, [&] {
    terminal.shown();
    return program.has_ended();
  }));
  CHECK(program.wait().exit_code == exit_code);
  return terminal.shown();
}

std::string on_terminal(const Job& job, const Arguments& more,
                        const std::map<std::string, std::string>& variables, int exit_code = 0) {
  return on_terminal(80, job.run(more), variables, exit_code);
}

TEST_CASE("60 columns are enough for what run, plan and compare print") {
  const Job job;
  const std::string spec = job.spec_file().string(), run = job.run_folder().string();
  const Arguments three = Job::set(
      {"compare.baseline=one_device", "train.epochs=3", "strategy.replicas=3", "batch.per_replica=30"});
  const std::map<std::string, std::string> plain = {{"TERM", "xterm"}, {"NO_COLOR", "1"}};
  const auto check = [](const std::string& shown) {
    bool in_spec = false;  // whose lines stay as they are
    for (const std::string& line : lines_left(shown)) {
      if (line == "every field, resolved") in_spec = true;
      if (line.rfind("layers, measured", 0) == 0) in_spec = false;
      CAPTURE(line);
      CHECK((in_spec || line.size() <= 60));
    }
  };
  check(on_terminal(60, job.run(three), plain));
  check(on_terminal(60, Arguments{"plan", "--explain", spec} + three, plain));
  const Arguments other = {"--set", "train.epochs=2", "--run-dir", run + "-other"};
  REQUIRE(run_program(Arguments{"run", spec} + other).exit_code == 0);
  const std::string compared = on_terminal(60, {"compare", run, run + "-other"}, plain);
  CHECK_THAT(compared, ContainsSubstring("strategy.replicas"));
  check(compared);
}

TEST_CASE(
    "a terminal of 80 columns shows a compared job without a line that wraps, in colours with a meaning") {
  const Job job;
  const std::string shown =
      on_terminal(job, Job::set({"compare.baseline=one_device", "train.epochs=3", "strategy.replicas=2"}),
                  {{"TERM", "xterm"}});
  INFO(shown);
  std::string text;
  for (const std::string& line : lines_left(shown)) text += line + "\n";
  CHECK_THAT(text, ContainsSubstring("measuring what the strategy adds to a step where"));
  CHECK_THAT(shown, ContainsSubstring("\roverhead ["));  // a bar moves meanwhile
  CHECK_THAT(text, ContainsSubstring("  \x1b[32mbest\x1b[0m\n") && ContainsSubstring("      3/3 "));
  size_t from = 0;  // without colours
  while ((from = text.find('\x1b')) != std::string::npos) text.erase(from, text.find('m', from) - from + 1);
  for (const std::string& line : lines_of(text)) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
}

TEST_CASE("NO_COLOR takes the colours away if it has a value, and a dumb terminal gets no codes at all") {
  const Job job;
  const Arguments short_job = Job::set({"train.epochs=2"}) + Arguments{"--overwrite"};
  const std::string green = "\x1b[32m";
  CHECK_THAT(on_terminal(job, short_job, {{"TERM", "xterm"}, {"NO_COLOR", ""}}), ContainsSubstring(green));
  const std::string plain = on_terminal(job, short_job, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  CHECK_THAT(plain,
             !ContainsSubstring("\x1b[3") && ContainsSubstring("  best\r\n") && ContainsSubstring("\x1b[K"));
  CHECK_THAT(on_terminal(job, short_job, {{"TERM", "dumb"}}), !ContainsSubstring("\x1b"));
}

TEST_CASE("an error on a terminal is red") {
  const Job job;
  CHECK(run_program(job.run()).exit_code == 0);
  const std::string shown = on_terminal(job, {}, {{"TERM", "xterm"}}, 2);  // its folder is taken
  CHECK_THAT(shown, ContainsSubstring("\x1b[31mdtrain: "));
  CHECK_THAT(on_terminal(job, {}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, 2), !ContainsSubstring("\x1b"));
}

TEST_CASE("Ctrl-C typed into the terminal stops the job") {
  const Job job;
  Terminal terminal;
  ProgramOptions options;
  options.terminal = terminal.name();
  Program program(job.run(kEndless), options);
  REQUIRE(
      eventually(kSoon, [&] { return terminal.shown().find("\rdistributed epoch ") != std::string::npos; }));
  terminal.type("\x03");
  REQUIRE(eventually(kSoon, [&] {
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
  CHECK_THAT(shown.substr(wiped), ContainsSubstring("stopped by SIGINT after step "));
}

}  // namespace
}  // namespace dtrain
