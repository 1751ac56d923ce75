// dtrain report: one HTML page of a run, of several, or of a sweep.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "checkpoint/manifest.h"
#include "command_line.h"
#include "example_results.h"
#include "files.h"
#include "initial_state/resume.h"
#include "job_file/load.h"
#include "plan/job_plan.h"
#include "saved_run.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

size_t times(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The folder of a run with a checkpoint of an untrained model.
fs::path reportable_run(const fs::path& folder) {
  const fs::path run = save_run(folder);
  write_file(run / "spec.yaml", kSavedSpec);
  write_file(run / "metrics.jsonl", "");
  return run;
}

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
  run.folder.write("page.html", "mine");
  CHECK(dtrain_command({"report", "run", "--out", "link.html", "--overwrite"}, run.there).exit_code == 0);
  CHECK(fs::is_symlink(run.folder / "link.html"));
  CHECK(dtrain_command({"report", "run", "--overwrite"}, run.there).exit_code == 0);
  CHECK(content_of(run.folder / "report.html") == content_of(run.folder / "page.html"));
}

TEST_CASE("report of a folder that is not there names the one that was probably meant") {
  const ReportedRun run;
  CHECK_THAT(dtrain_command({"report", "rum"}, run.there).errors,
             ContainsSubstring("rum: there is no such folder; did you mean run?"));
}

TEST_CASE("report does not wait for a pipe in a run's folder") {
  const ReportedRun run;
  fs::remove(run.folder / "run/spec.yaml");
  REQUIRE(::mkfifo((run.folder / "run/spec.yaml").c_str(), 0600) == 0);
  const Outcome refused = dtrain_command({"report", "run"}, run.there);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("run/spec.yaml: not a regular file"));
}

TEST_CASE("the page of a run with a checkpoint shows what eval counts, and the worst mistakes") {
  const TemporaryFolder folder;
  const fs::path run = reportable_run(folder.path());
  const std::string page = folder / "page.html";
  const Outcome made = dtrain_command({"report", run, "--out", page});
  INFO(made.errors);
  CHECK(made.exit_code == 0);
  CHECK(made.errors.empty());
  const auto evaluated = nlohmann::json::parse(dtrain_command({"eval", run, "--json"}).output);
  const auto correct = evaluated.at("correct").get<size_t>();
  const std::string text = content_of(page);
  CHECK_THAT(text, ContainsSubstring("the checkpoint of step 5: " + std::to_string(correct) +
                                     " of 33 test examples are right"));
  CHECK(times(text, "<img ") == std::min<size_t>(24, 33 - correct));
  CHECK(times(text, "src=\"data:image/png;base64,iVBORw0KGgo") == times(text, "<img "));
  size_t cells = 0;
  for (const auto& row : evaluated.at("confusion")) {
    for (const auto& count : row) cells += count > 0 ? 1 : 0;
  }
  CHECK(times(text, "<td style=\"background:rgb(") == cells);

  CHECK(dtrain_command({"report", run, "--out", page, "--overwrite", "--no-mistakes"}).exit_code == 0);
  CHECK_THAT(content_of(page), !ContainsSubstring("<img ") && !ContainsSubstring("test examples are right"));
}

TEST_CASE("a run without a checkpoint has a page, and the reason why there are no mistakes") {
  const TemporaryFolder folder;
  const fs::path run = reportable_run(folder.path());
  fs::remove_all(checkpoint_folder(run));
  const Outcome made = dtrain_command({"report", run, "--out", folder / "page.html"});
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.errors, ContainsSubstring("no confusion matrix and no mistakes: "));
  CHECK(fs::exists(folder / "page.html"));
}

TEST_CASE("a page names the classes of what a run keeps of its examples, and says where this is damaged") {
  const TemporaryFolder folder;
  const fs::path run = reportable_run(folder.path());
  JobPlan job = plan_job(parse_spec(kSavedSpec, "spec"), find_dataset).job;
  job.data.class_names = {"ash", "beech", "cedar"};
  write_plan(run / "plan.json", job);
  write_examples(run / kExamplesFile,
                 example_results("cross_entropy", {1, 1, 1}, {0, 1, 2}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  const fs::path page = folder / "page.html";
  CHECK(dtrain_command({"report", run, "--out", page, "--no-mistakes"}).exit_code == 0);
  CHECK_THAT(content_of(page), ContainsSubstring("<th scope=\"row\">1 beech</th>"));

  write_file(run / kExamplesFile, "nothing");
  const Outcome damaged = dtrain_command({"report", run, "--out", page, "--overwrite"});
  CHECK(damaged.exit_code == 0);
  CHECK_THAT(damaged.errors, ContainsSubstring("no calibration and no thresholds: ") &&
                                 ContainsSubstring("examples.safetensors is damaged: ") &&
                                 !ContainsSubstring("no confusion matrix"));
  CHECK_THAT(content_of(page), ContainsSubstring("test examples are right"));
}

TEST_CASE("the folder of a sweep has a page") {
  const TemporaryFolder folder;
  folder.write("sweep.json", R"({"name": "mine", "mode": "strong", "points": []})");
  CHECK(dtrain_command({"report", folder.path(), "--out", folder / "page.html"}).exit_code == 0);
  CHECK_THAT(content_of(folder / "page.html"),
             ContainsSubstring("sweep of mine") && ContainsSubstring("strong"));
  folder.write("sweep.json", "{");
  const Outcome damaged = dtrain_command({"report", folder.path(), "--out", folder / "other.html"});
  CHECK(damaged.exit_code == 2);
  CHECK_THAT(damaged.errors, ContainsSubstring("sweep.json is damaged"));
}

}  // namespace
}  // namespace dtrain
