// dtrain watch beside a job that trains, on a terminal.
#include <csignal>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

const Arguments kTwo = Job::set({"strategy.replicas=2"});
const std::string kOtherScreen = "\x1b[?1049h", kBack = "\x1b[?25h\x1b[?1049l";

// Watches the run until `condition` holds of what is shown.
struct Watcher {
  Terminal terminal;
  Program program;

  explicit Watcher(const Job& job, int columns = 80, const std::map<std::string, std::string>& variables = {})
      : terminal(columns), program({"watch", job.run_folder().string()}, options(variables)) {}
  ProgramOptions options(const std::map<std::string, std::string>& variables) const {
    ProgramOptions all;
    all.environment = {{"TERM", "xterm"}};
    for (const auto& [name, value] : variables) all.environment[name] = value;
    all.terminal = terminal.name();
    return all;
  }
  bool sees(const std::string& text) {
    return eventually(kSoon, [&] { return terminal.shown().find(text) != std::string::npos; });
  }
  // What is left on the terminal after the end.
  std::string left(int exit_code = 0) {
    REQUIRE(eventually(kSoon, [&] {
      terminal.shown();
      return program.has_ended();
    }));
    CHECK(program.wait().exit_code == exit_code);
    const std::string shown = terminal.shown();
    const size_t back = shown.rfind(kBack);
    REQUIRE(back != std::string::npos);
    return shown.substr(back + kBack.size());
  }
};

TEST_CASE("watch shows what the replicas of a running job do, and its end") {
  const Job job;
  Program run(job.run(kTwo + kEndless));
  job.wait_for_step();
  Watcher watcher(job);
  CHECK(watcher.sees("replicas   0 "));
  CHECK(watcher.sees(" left"));
  CHECK(watcher.terminal.shown().find(kOtherScreen) == 0);
  run.send(SIGTERM);
  CHECK(run.wait().exit_code == 75);
  CHECK_THAT(watcher.left(), ContainsSubstring("stopped after ") && !ContainsSubstring("replicas   0 "));
}

TEST_CASE("watch leaves by Ctrl-C or q, quietly, and the job goes on") {
  const Job job;
  Program run(job.run(kTwo + kEndless));
  job.wait_for_step();
  for (const char* key : {"\x03", "q"}) {
    Watcher watcher(job, 60, {{"NO_COLOR", "1"}});
    REQUIRE(watcher.sees("running"));
    watcher.terminal.type(key);
    const std::string left = watcher.left();
    CHECK_THAT(left, ContainsSubstring("running\r\n") && !ContainsSubstring("\x1b") &&
                         !ContainsSubstring("dtrain:"));
  }
  Watcher watcher(job);
  REQUIRE(watcher.sees("running"));
  watcher.program.send(SIGTERM);
  CHECK_THAT(watcher.left(75), ContainsSubstring("running"));
  CHECK_FALSE(run.has_ended());
}

TEST_CASE("a job that was killed is interrupted, and watch ends") {
  const Job job;
  Program run(job.run(kTwo + kEndless));
  job.wait_for_step();
  Watcher watcher(job);
  REQUIRE(watcher.sees("running"));
  run.send(SIGKILL);
  CHECK_THAT(watcher.left(), ContainsSubstring("interrupted"));
  const Finished once = run_program({"watch", "--once", job.run_folder().string()});
  CHECK_THAT(once.output, ContainsSubstring("interrupted\n"));
}

}  // namespace
}  // namespace dtrain
