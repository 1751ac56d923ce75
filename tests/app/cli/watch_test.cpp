// dtrain watch of folders that are there, and of those that are not.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "command_line.h"
#include "files.h"
#include "host/machine.h"
#include "metrics/sample_events.h"
#include "runs/run_directory.h"

namespace dtrain {
namespace {

std::string some_events() {
  std::string text;
  Event start = run_start("distributed", 2);
  start["host"] = own_host_name();
  for (const Event& event : {start, step("distributed", 1, 100), epoch("distributed", 1),
                             eval("distributed", 1), step("distributed", 2, 600)})
    text += event_text(event) + "\n";
  return text;
}

TEST_CASE("watch --once of a run that is running, was killed, and has ended") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  std::optional<RunDirectory> owner = RunDirectory::create({.name = "x", .directory = folder / "run"});
  write_file(owner->metrics_file(), some_events());
  const Outcome running = dtrain_command({"watch", "--once", "run"}, there);
  CHECK(running.exit_code == 0);
  CHECK(running.errors.empty());
  CHECK_THAT(running.output, ContainsSubstring("running\n") && ContainsSubstring(" 600/938") &&
                                 ContainsSubstring("test       loss 0.0715, accuracy 0.9760") &&
                                 ContainsSubstring("loss: * training, o test"));
  CHECK(running.output.find('\x1b') == std::string::npos);

  owner.reset();
  const Outcome killed = dtrain_command({"watch", "run"}, there);  // no terminal: once, too
  CHECK(killed.exit_code == 0);
  CHECK_THAT(killed.output,
             ContainsSubstring("interrupted\n") && ContainsSubstring("600 of 938 steps were made"));

  write_file(folder / "run/metrics.jsonl", some_events() + event_text(run_end("distributed")) + "\n");
  const Outcome ended = dtrain_command({"watch", "--json", "run"}, there);
  const auto document = nlohmann::json::parse(ended.output);
  CHECK(document.at("runs").at(0).at("status") == "completed");
  CHECK(document.at("runs").at(0).at("path") == "run");
}

TEST_CASE("a frame for a pipe has the columns that the environment tells") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  folder.write("run/metrics.jsonl", some_events());
  const auto first_line = [&](const std::string& columns) {
    const Surroundings there{folder.path(), {{"COLUMNS", columns}}, {}};
    const std::string output = dtrain_command({"watch", "run"}, there).output;
    return output.substr(0, output.find('\n'));
  };
  CHECK(first_line("60").size() == 60);
  CHECK(first_line("120").size() == 120);
  CHECK(first_line("wide").size() == 80);
}

TEST_CASE("watch of what is no run says what to do") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  const auto errors = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = dtrain_command(arguments, there);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.output.empty());
    return outcome.errors;
  };
  CHECK_THAT(errors({"watch", "runs/none"}), ContainsSubstring("runs/none: "));
  CHECK_THAT(errors({"watch"}), ContainsSubstring("RUN"));
  std::filesystem::create_directories(folder / "tune/trial-001");
  folder.write("tune/trial-001/metrics.jsonl", "");
  CHECK_THAT(errors({"watch", "tune"}), ContainsSubstring("for the newest: dtrain watch tune/trial-001"));
  std::filesystem::create_directory(folder / "sweep");
  folder.write("sweep/sweep.json", "{}");
  CHECK_THAT(errors({"watch", "sweep"}), ContainsSubstring("dtrain report sweep"));
}

}  // namespace
}  // namespace dtrain
