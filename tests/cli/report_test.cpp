// dtrain report: which files it replaces, and what it is given.
#include "catch.h"
#include "command_line.h"
#include "files.h"

namespace dtrain {
namespace {

struct ReportedRun {
  TemporaryFolder folder;
  Surroundings there{folder.path(), {}, {}};

  ReportedRun() {
    std::filesystem::create_directory(folder / "run");
    folder.write("run/spec.yaml", "batch: {per_replica: 8}\ndata: {dataset: synthetic}\n");
    folder.write("run/metrics.jsonl", "");
  }
};

TEST_CASE("report replaces its own earlier page, and no other file unless it is told to") {
  const ReportedRun run;
  CHECK(dtrain_command({"report", "run"}, run.there).output == "report.html\n");
  run.folder.write("run/spec.yaml", "name: renamed\nbatch: {per_replica: 8}\ndata: {dataset: synthetic}\n");
  CHECK(dtrain_command({"report", "run"}, run.there).exit_code == 0);
  CHECK_THAT(content_of(run.folder / "report.html"), ContainsSubstring("renamed"));

  run.folder.write("report.html", "mine");
  const Outcome refused = dtrain_command({"report", "run"}, run.there);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors,
             ContainsSubstring("report.html is there already, and not made by dtrain report"));
  CHECK(content_of(run.folder / "report.html") == "mine");
  // Also not what a link names, whoever made it.
  CHECK(dtrain_command({"report", "run", "--out", "page.html"}, run.there).exit_code == 0);
  std::filesystem::create_symlink("page.html", run.folder / "link.html");
  CHECK(dtrain_command({"report", "run", "--out", "link.html"}, run.there).exit_code == 2);
  CHECK(dtrain_command({"report", "run", "--overwrite"}, run.there).exit_code == 0);
  CHECK(content_of(run.folder / "report.html") == content_of(run.folder / "page.html"));
  // The older name of --out.
  CHECK(dtrain_command({"report", "run", "--output", "old.html"}, run.there).output == "old.html\n");
}

TEST_CASE("report says what it needs instead of a sweep's folder") {
  const ReportedRun run;
  std::filesystem::create_directories(run.folder / "sweep/replicas-1");
  run.folder.write("sweep/sweep.json", "{}");
  run.folder.write("sweep/replicas-1/metrics.jsonl", "");
  const Outcome outcome = dtrain_command({"report", "sweep"}, run.there);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.errors,
             ContainsSubstring("sweep is the folder of a sweep: its results are in sweep/sweep.svg, ") &&
                 ContainsSubstring("name runs in it: dtrain report sweep/replicas-1\n"));
  CHECK_THAT(dtrain_command({"report", "rum"}, run.there).errors,
             ContainsSubstring("rum: there is no such folder; did you mean run?"));
}

}  // namespace
}  // namespace dtrain
