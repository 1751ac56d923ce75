#include "runs/run_directory.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "metrics/events.h"

using namespace dtrain;
namespace fs = std::filesystem;

namespace {

RunDirectoryOptions into(const fs::path& directory, bool overwrite = false) {
  RunDirectoryOptions options;
  options.name = "job";
  options.directory = directory;
  options.overwrite = overwrite;
  return options;
}

RunDirectoryOptions under(const fs::path& parent, const std::string& name) {
  RunDirectoryOptions options;
  options.name = name;
  options.parent = parent;
  return options;
}

// The message of the Error(kUsage) that create() must throw.
std::string refusal(const RunDirectoryOptions& options) {
  try {
    RunDirectory::create(options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  FAIL("no refusal");
  return "";
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

// A folder as a finished job leaves it.
void leave_a_run(const fs::path& path) {
  const RunDirectory run = RunDirectory::create(into(path));
  write_file(run.spec_file(), "batch: {per_replica: 1}\n");
  write_file(run.metrics_file(), event_text(encode(begin_event<RunStartEvent>("distributed"))) + "\n");
  write_file(run.logs() / "distributed-rank0.log", "x");
  write_file(run.logs() / "baseline-worker12.attempt2.restart1.log", "x");
  run.write_summary(Event::object());
}

}  // namespace

TEST_CASE("a made-up folder is named after the job and the time, and has what a run needs") {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create(under(folder.path() / "deep" / "runs", "mnist"));
  CHECK(run.path().parent_path() == folder.path() / "deep" / "runs");
  const std::string name = run.path().filename().string();
  CHECK(name.size() == std::string("mnist-20260131-120000").size());
  CHECK(name.substr(0, 6) == "mnist-");
  CHECK(names_in(run.path()) == std::set<std::string>{"logs", "metrics.jsonl"});
  CHECK(fs::file_size(run.metrics_file()) == 0);
}

TEST_CASE("jobs of one name in one second get folders of their own") {
  const TemporaryFolder folder;
  std::vector<RunDirectory> runs;
  std::set<std::string> paths;
  for (int job = 0; job < 5; ++job) {
    runs.push_back(RunDirectory::create(under(folder.path(), "job")));
    paths.insert(runs.back().path().string());
  }
  CHECK(paths.size() == 5);
}

TEST_CASE("a job's name stays one file name inside the parent") {
  const TemporaryFolder folder;
  for (const std::string& name : {std::string("../../x"), std::string("/"), std::string(".."), std::string(),
                                  std::string("a\nb"), std::string(5000, 'n'), std::string("-rf")}) {
    const RunDirectory run = RunDirectory::create(under(folder.path(), name));
    CHECK(run.path().parent_path() == folder.path());
    const std::string made = run.path().filename().string();
    CHECK(made.size() < 100);
    CHECK(made[0] != '.');
    CHECK(made[0] != '-');
    CHECK(made.find('\n') == std::string::npos);
  }
}

TEST_CASE("a long name of a job leaves room for what the folder is of, which is no run of the job") {
  const TemporaryFolder folder;
  const std::string job(100, 'n');
  RunDirectoryOptions of_tune = under(folder.path(), job);
  of_tune.ending = "-tune";
  const std::string name = make_folder_of_run(of_tune).filename().string();
  CHECK(name.substr(0, 70) == std::string(64, 'n') + "-tune-");
  CHECK_FALSE(is_named_for(name, job));
  CHECK(is_named_for(make_folder_of_run(under(folder.path(), job)).filename().string(), job));
}

TEST_CASE("a given folder may be absent or empty, with and without overwrite") {
  for (const bool overwrite : {false, true}) {
    const TemporaryFolder folder;
    CHECK(RunDirectory::create(into(folder.path() / "a" / "b" / "", overwrite)).path() ==
          folder.path() / "a" / "b");
    fs::create_directory(folder.path() / "empty");
    CHECK(names_in(RunDirectory::create(into(folder.path() / "empty", overwrite)).path()).size() == 2);
  }
}

TEST_CASE("a run is not replaced without overwrite, and the refusal names the ways out") {
  const TemporaryFolder folder;
  leave_a_run(folder.path() / "run");
  const std::string message = refusal(into(folder.path() / "run"));
  CHECK_THAT(message, ContainsSubstring("--run-dir"));
  CHECK_THAT(message, ContainsSubstring("--resume") && ContainsSubstring("--overwrite"));
  RunDirectoryOptions elsewhere = into(folder.path() / "run");
  elsewhere.resumes = true;
  CHECK_THAT(refusal(elsewhere), ContainsSubstring("--run-dir") && !ContainsSubstring("--overwrite"));
  CHECK_THAT(message, ContainsSubstring((folder.path() / "run").string()));
  CHECK(fs::file_size(folder.path() / "run" / "metrics.jsonl") > 1);
}

TEST_CASE("a run that is opened again knows how many attempts have logs there") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  CHECK(RunDirectory::create(into(path)).attempts() == 0);
  write_file(path / "logs" / "distributed-rank0.log", "x");
  write_file(path / "logs" / "distributed-rank0.attempt7.log.old", "x");
  CHECK(RunDirectory::reopen(path).attempts() == 1);
  write_file(path / "logs" / "distributed-rank0.attempt10.log", "x");
  write_file(path / "logs" / "distributed-worker1.attempt9.restart11.log", "x");
  CHECK(RunDirectory::reopen(path).attempts() == 10);
}

TEST_CASE("overwrite replaces a run and keeps what is not dtrain's") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  leave_a_run(path);
  write_file(path / "notes.txt", "x");
  write_file(path / "program.pt", "x");
  write_file(path / "metrics.jsonl.rewound", "x");
  fs::create_directory(path / "plots");
  write_file(path / "logs" / "mine.txt", "x");
  write_file(path / "logs" / "server.log", "x");
  write_file(path / "logs" / "distributed-rank0.log.log", "x");
  const RunDirectory run = RunDirectory::create(into(path, true));
  CHECK(names_in(path) == std::set<std::string>{"logs", "metrics.jsonl", "notes.txt", "plots"});
  CHECK(names_in(path / "logs") ==
        std::set<std::string>{"distributed-rank0.log.log", "mine.txt", "server.log"});
  CHECK(fs::file_size(path / "metrics.jsonl") == 0);
}

TEST_CASE("overwrite leaves a folder that holds no run alone") {
  const TemporaryFolder folder;
  const auto refused = [&](const char* name, auto fill) {
    const fs::path path = folder.path() / name;
    fs::create_directory(path);
    fill(path);
    const auto before = names_in(path);
    CHECK_THAT(refusal(into(path, true)), ContainsSubstring("--run-dir"));
    CHECK(names_in(path) == before);
  };
  refused("thesis", [](const fs::path& path) { write_file(path / "thesis.tex", "x"); });
  refused("own_spec", [](const fs::path& path) { write_file(path / "spec.yaml", "x"); });
  refused("template", [](const fs::path& path) { write_file(path / "spec.yaml.tmpl", "x"); });
  refused("own_metrics", [](const fs::path& path) { write_file(path / "metrics.jsonl", "x"); });
  const auto write_strangers_logs = [](const fs::path& path) {
    fs::create_directory(path / "logs");
    write_file(path / "logs" / "system.log", "x");
  };
  refused("others_metrics_and_logs", [&](const fs::path& path) {
    write_file(path / "metrics.jsonl", "{\"event\":\"login\",\"user\":7}\n");
    write_strangers_logs(path);
  });
  refused("empty_metrics", [&](const fs::path& path) {
    write_file(path / "metrics.jsonl", "");
    write_strangers_logs(path);
  });
  refused("empty_metrics_and_another_spec", [&](const fs::path& path) {
    write_file(path / "metrics.jsonl", "");
    write_file(path / "spec.yaml", "openapi: 3.0.0\n");
    write_strangers_logs(path);
  });
  refused("own_logs", write_strangers_logs);
  refused("own_empty_logs", [](const fs::path& path) {
    fs::create_directory(path / "logs");
    write_file(path / "logs" / "system.log", "");
  });
  refused("linked_logs", [&](const fs::path& path) {
    write_file(path / "metrics.jsonl", "x");
    fs::create_directory(folder.path() / "elsewhere");
    write_file(folder.path() / "elsewhere" / "system.log", "x");
    fs::create_directory_symlink(folder.path() / "elsewhere", path / "logs");
  });
  CHECK(fs::exists(folder.path() / "elsewhere" / "system.log"));
  refused("linked_metrics", [&](const fs::path& path) {
    fs::create_directory(path / "logs");
    write_file(folder.path() / "precious", "x");
    fs::create_symlink(folder.path() / "precious", path / "metrics.jsonl");
  });
  CHECK(fs::file_size(folder.path() / "precious") == 1);
}

TEST_CASE("a run that was ended while it made its folder stands in nobody's way") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  const bool overwrite = GENERATE(false, true);
  fs::create_directories(path / "logs");
  SECTION("before there were files") {}
  SECTION("on a full disk") {
    write_file(path / "metrics.jsonl", "");
    write_file(path / "spec.yaml.tmp7-1", "name: jo");
  }
  SECTION("by a power failure, after which files have no content") {
    for (const char* name : {"metrics.jsonl", "spec.yaml", "logs/distributed-rank0.log"})
      write_file(path / name, "");
  }
  CHECK_NOTHROW(RunDirectory::create(into(path, overwrite)));
  CHECK(names_in(path) == std::set<std::string>{"logs", "metrics.jsonl"});
  CHECK(names_in(path / "logs").empty());
}

TEST_CASE("overwrite removes links, not what they point to, and nothing when a folder is in the way") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  leave_a_run(path);
  write_file(folder.path() / "precious", "x");
  fs::remove(path / "spec.yaml");
  fs::create_symlink(folder.path() / "precious", path / "spec.yaml");
  RunDirectory::create(into(path, true));
  CHECK(fs::exists(folder.path() / "precious"));
  CHECK_FALSE(fs::is_symlink(path / "spec.yaml"));

  const std::string metrics = event_text(encode(begin_event<WarningEvent>("distributed"))) + "\n";
  write_file(path / "metrics.jsonl", metrics);
  fs::create_directory(path / "summary.json");
  CHECK_THAT(refusal(into(path, true)), ContainsSubstring("summary.json"));
  CHECK(content_of(path / "metrics.jsonl") == metrics);
}

TEST_CASE("what is no folder, or cannot be made, is refused with its name") {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  CHECK_THAT(refusal(into(folder.path() / "file", true)), ContainsSubstring("file"));
  CHECK_THAT(refusal(into(folder.path() / "file" / "inside")), ContainsSubstring("file"));
  CHECK_THAT(refusal(under(folder.path() / "file", "job")), ContainsSubstring("file"));
  CHECK_THAT(refusal(into(folder.path() / std::string(300, 'n'))), ContainsSubstring("nnn"));
  refusal(into(""));
  fs::create_directory_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  CHECK_THAT(refusal(into(folder.path() / "dangling")), ContainsSubstring("dangling"));
}

TEST_CASE("a folder in use is refused, with overwrite too, until its job ends") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  {
    const RunDirectory first = RunDirectory::create(into(path));
    CHECK_THAT(refusal(into(path)), ContainsSubstring("another dtrain"));
    CHECK_THAT(refusal(into(path, true)), ContainsSubstring("another dtrain"));
    CHECK(fs::exists(first.metrics_file()));
    write_file(first.spec_file(), "batch: {per_replica: 1}\n");
  }
  CHECK_NOTHROW(RunDirectory::create(into(path, true)));
}

TEST_CASE("the lock moves with its object") {
  const TemporaryFolder folder;
  RunDirectory first = RunDirectory::create(into(folder.path() / "run"));
  const RunDirectory moved = std::move(first);
  CHECK_THAT(refusal(into(folder.path() / "run", true)), ContainsSubstring("another dtrain"));
  CHECK(moved.path() == folder.path() / "run");
}

TEST_CASE("a folder that is removed is made again, and locked") {
  const TemporaryFolder folder;
  RunDirectory run = RunDirectory::create(into(folder.path() / "run"));
  CHECK(run.is_in_place());
  run.make_again();
  CHECK(run.is_in_place());
  fs::remove(run.logs());
  CHECK_FALSE(run.is_in_place());
  run.make_again();
  CHECK(fs::is_directory(run.logs()));
  fs::remove_all(run.path());
  fs::create_directories(run.logs());  // by another
  CHECK_FALSE(run.is_in_place());
  run.make_again();
  CHECK(run.is_in_place());
  CHECK_THAT(refusal(into(run.path(), true)), ContainsSubstring("another dtrain"));
}

TEST_CASE("summary.json holds the document and is replaced as a whole") {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create(into(folder.path() / "run"));
  run.write_summary(Event{{"first", 1}});
  run.write_summary(Event{{"speedup", 1.5}, {"loss", INFINITY}});
  std::ifstream file(run.path() / "summary.json");
  CHECK(Event::parse(file) == Event{{"speedup", 1.5}, {"loss", "inf"}});
  CHECK(names_in(run.path()) == std::set<std::string>{"logs", "metrics.jsonl", "summary.json"});
}
