#include "report/report.h"

#include <fstream>

#include "catch.h"
#include "core/error.h"
#include "example_results.h"
#include "files.h"
#include "markup.h"
#include "metrics/sample_events.h"
#include "runs/comparison.h"
#include "runs/finished_run.h"
#include "runs/sample_sweep.h"
#include "sanitized.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const char* const kDoctype = "<!DOCTYPE html>\n";

void write_course(std::ostream& out, const std::string& run, int64_t replicas) {
  out << run_start(run, replicas) << '\n';
  for (int64_t number = 50; number <= 938; number += 50) {
    Event line = step(run, 1, number);
    line["loss"] = 2.0 / static_cast<double>(number);
    line["gradient_norm"] = 5.0 / static_cast<double>(number);
    out << line << '\n';
  }
  for (int64_t number = 1; number <= 2; ++number) {
    Event end = epoch(run, number);
    end["phases_ms"] = {{"data_wait", 0.1}, {"compute", 1.5 * static_cast<double>(number)}};
    Event evaluation = eval(run, number);
    if (number == 2) evaluation["accuracy"] = 0.9;
    out << end << '\n' << evaluation << '\n';
  }
  Event end = run_end(run);
  end["phases_ms"] = {
      {"data_wait", 0.1}, {"compute", 1.5}, {"communicate", 0.2}, {"update", 0.1}, {"wait_for_peers", 0.1}};
  end["accuracy"] = 0.9;
  out << end << '\n';
}

// A run with a baseline, whose texts are all `hostile`.
fs::path make_run(const fs::path& folder, const std::string& hostile = "plain") {
  fs::create_directories(folder);
  std::ofstream(folder / "spec.yaml") << "name: it\nbatch: {per_replica: 64}\ndata: {path: "
                                      << Event("/" + hostile.substr(0, hostile.find('\x1b'))) << "}\n";
  std::ofstream metrics(folder / "metrics.jsonl");
  write_course(metrics, "baseline", 1);
  write_course(metrics, "distributed", 2);
  Event start = run_start("distributed", 2);
  for (const char* field :
       {"strategy", "dataset", "dataset_source", "dataset_requested", "learning_rate_derivation", "dtrain"})
    start[field] = hostile;
  start["devices"] = {hostile, hostile};
  metrics << start << '\n'
          << Event{{"event", "warning"}, {"run", "distributed"}, {"text", hostile}} << '\n'
          << Event{{"event", "comparison"},
                   {"run", "distributed"},
                   {"name", hostile},
                   {"verdict", hostile},
                   {"baseline", {{"strategy", hostile}, {"replicas", 1}, {"examples_per_second", 100}}},
                   {"distributed", {{"strategy", hostile}, {"replicas", 2}, {"examples_per_second", 174}}},
                   {"speedup", 1.74},
                   {"scaling_efficiency", 0.87}}
          << "\nhalf a li";
  return folder;
}

// Requires a document that is XML too and cannot load or run anything.
void check_page(const std::string& page) {
  REQUIRE(page.rfind(kDoctype, 0) == 0);
  CHECK(is_well_formed(page.substr(std::string(kDoctype).size())));
  for (const char* none : {"<script", "javascript:", "href=", "url(", "@import", " onload", "inf\""})
    CHECK(count_of(page, none) == 0);
  CHECK(count_of(page, " src=") == count_of(page, " src=\"data:image/png;base64,"));
  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
}

TEST_CASE("a run's page has its curves, numbers, environment and spec") {
  const TemporaryFolder folder;
  const std::string page = report_page({read_run_history(make_run(folder.path() / "run"))});
  check_page(page);
  CHECK(count_of(page, "<figure>") == 6 + 2);    // curves, and the phases of each course over its epochs
  CHECK(count_of(page, "class=\"ring\"") == 4);  // around the best loss and accuracy of each course
  const size_t ended = page.find(">test accuracy<"),
               best = page.find("test accuracy of epoch 1 of 2, the best by loss");
  REQUIRE(best != std::string::npos);
  CHECK(ended < best);  // first what the run ended with
  CHECK_THAT(page, ContainsSubstring(": best epoch by loss, 1") && !ContainsSubstring("valuation accuracy"));
  CHECK(count_of(page, "class=\"line\"") == 2 + 2 + 2 + 2 + 2 + 2);  // baseline and distributed
  CHECK(count_of(page, "class=\"line faint\"") == 2 + 2);            // training loss and accuracy
  CHECK(count_of(page, "class=\"bar\"") == 2);
  for (const char* text :
       {"1.74 x", "87.0 %", ">0.9760<", ">0.9000<", "Learning rate", "Gradient norm", "Speed, examples/s",
        "forward and backward", ">60,000<", "2 x plain", "per_replica: 64", "prefers-color-scheme: dark",
        ">completed<", "distributed: plain was not found; this is plain"})
    CHECK_THAT(page, ContainsSubstring(text));
}

TEST_CASE("a run with a validation part has that in its curves, and the test beside them") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "run");
  std::ofstream metrics(run / "metrics.jsonl");
  for (const char* name : {"baseline", "distributed"}) {
    Event start = run_start(name, 1);
    start["validation_examples"] = 6000;
    metrics << start << '\n'
            << eval_of("validation", name, 1, 0.05, 0.99) << '\n'
            << eval_of("test", name, 1, 0.0715, 0.976) << '\n';
  }
  metrics.close();
  const std::string page = report_page({read_run_history(run)});
  check_page(page);
  for (const char* text : {"validation accuracy", "test accuracy", "validation examples", ">6,000<",
                           "Validation accuracy over time", "dots: validation", ">0.9760<", ">0.9900<"})
    CHECK_THAT(page, ContainsSubstring(text));
  CHECK_THAT(page, !ContainsSubstring("evaluation accuracy"));
}

TEST_CASE("restarts and what they cost stand on the page, in the comparison and beside other runs") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "run");
  Event end = run_end("distributed");
  end["restarts"] = 2;
  end["lost_seconds"] = 3.5;
  const Event restart = {{"event", "restart"},
                         {"run", "distributed"},
                         {"restart", 2},
                         {"step", 400},
                         {"error", "rank 1 failed first: killed by SIGKILL"}};
  std::ofstream(run / "metrics.jsonl", std::ios::app) << '\n' << restart << '\n' << end << '\n';
  const std::string page = report_page({read_run_history(run)});
  check_page(page);
  for (const char* text : {">2 (3.500 s)<", "restarts (seconds lost)",
                           "restart 2 from step 400: rank 1 failed first: killed by SIGKILL"})
    CHECK_THAT(page, ContainsSubstring(text));

  SummaryCollector summaries;
  for (const char* kind : {"baseline", "distributed"}) summaries.on_event(run_start(kind, 2));
  summaries.on_event(end);
  const ComparisonEvent compared = compare_runs(summaries.of("baseline"), summaries.of("distributed"));
  CHECK_THAT(comparison_table(compared),
             ContainsSubstring("restarts (seconds lost)") && ContainsSubstring("2 (3.500 s)"));
  const FinishedRun finished = read_finished_run(run);
  const FinishedRun other = read_finished_run(make_run(folder.path() / "other"));
  CHECK_THAT(runs_table(compare_finished_runs({finished, other})), ContainsSubstring("2 (3.500 s)"));
  CHECK_THAT(runs_table(compare_finished_runs({other, other})), !ContainsSubstring("restarts"));
}

TEST_CASE("the page has the links between hosts") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "run");
  Event end = run_end("distributed");
  const auto link = [](const char* first, const char* second, double ms) {
    return Event{{"hosts", {first, second}}, {"bytes_sent", 4096}, {"least_round_trip_ms", ms}};
  };
  end["links"] = {link("a", "b", 0.1), link("a", "<c>", 9.5), link("b", "<c>", 0.1)};
  std::ofstream(run / "metrics.jsonl", std::ios::app) << '\n' << end << '\n';
  const std::string page = report_page({read_run_history(run)});
  check_page(page);
  for (const char* text : {"Links between hosts", ">a - b<", ">a - &lt;c&gt;<", ">4.0 KiB<", ">9.500<",
                           "link a - &lt;c&gt; stands out"})
    CHECK_THAT(page, ContainsSubstring(text));
  CHECK_THAT(page, !ContainsSubstring("link a - b stands out"));
}

TEST_CASE("whatever a run calls itself stays text") {
  const TemporaryFolder folder;
  const std::string hostile = "</title><script>alert(1)</script>\" onload=\"x' & \x1b[2J\n<img src=x>";
  const fs::path run = make_run(folder.path() / "<i>&\"", hostile);
  for (const size_t times : {1, 2}) {
    const std::string page = report_page(std::vector<RunHistory>(times, read_run_history(run)));
    REQUIRE(page.rfind(kDoctype, 0) == 0);
    CHECK(is_well_formed(page.substr(std::string(kDoctype).size())));
    for (const char* none : {"<script", "<img", "\x1b", "onload=\"", "<i>"}) CHECK(count_of(page, none) == 0);
    CHECK_THAT(page, ContainsSubstring("&lt;script&gt;alert(1)&lt;/script&gt;") &&
                         ContainsSubstring("&lt;i&gt;&amp;&quot;"));
  }
}

TEST_CASE("several runs are side by side with what differs") {
  const TemporaryFolder folder;
  const fs::path a = make_run(folder.path() / "a", "first"), b = make_run(folder.path() / "b", "second");
  const std::string page = report_page({read_run_history(a), read_run_history(b)});
  check_page(page);
  CHECK(count_of(page, "class=\"line\"") == 2 + 2 + 2 + 2 + 2 + 2);  // the distributed runs
  for (const char* text : {"it and 1 run more", "What differs in their specs", "A: it, first, 2 replicas",
                           "B: it, second", "their ratio to A", "B: baseline and distributed run"})
    CHECK_THAT(page, ContainsSubstring(text));
  const fs::path c = make_run(folder.path() / "c");
  const std::vector<RunHistory> runs = {read_run_history(a), read_run_history(b), read_run_history(c)};
  CHECK_THAT(report_page(runs), !ContainsSubstring("more than chance"));  // it reads nothing by itself
  const std::string three =
      report_page(runs, std::vector<ModelReport>(3),
                  differences_of({runs[0].finished, runs[1].finished, runs[2].finished}));
  for (const char* text :
       {"<p class=\"note\">B cannot be compared: ", "<p class=\"note\">C cannot be compared: "})
    CHECK_THAT(three, ContainsSubstring(text));
}

TEST_CASE("of a hundred runs the page has all in its tables, and the curves of the best") {
  const TemporaryFolder folder;
  std::vector<RunHistory> runs;
  for (int i = 0; i < 100; ++i) {
    runs.push_back(read_run_history(make_run(folder.path() / std::to_string(i), "run" + std::to_string(i))));
    runs.back().finished.final_metrics = {{"loss", 1.0}, {"accuracy", i % 9 == 0 ? 0.9 : 0.001 * i}};
  }
  ModelReport model;
  model.layers = {{"dense", "dense", "[3]", 21}};
  std::vector<ModelReport> models(100, model);
  models[99].layers[0].output = "[4]";
  const std::string page = report_page(runs, models);
  check_page(page);
  // 0, 9, 18, ..., 99 are as good as it gets.
  CHECK_THAT(page, ContainsSubstring("those of the 12 runs of 100 that ended with the best accuracy."));
  for (const char* text : {"<th scope=\"row\">CV</th>", ">it and 99 runs more<", "J: it, run9, 2 replicas",
                           "CV: it, run99, 2 replicas", "A and 98 more: model", "CV: model"})
    CHECK_THAT(page, ContainsSubstring(text));
  CHECK_THAT(page, !ContainsSubstring("B: it, run1,"));
  CHECK(count_of(page, "class=\"line\"") == 12 + 12 + 12 + 12 + 12 + 12);
  CHECK(count_of(page, "spec of it") == 100);
}

TEST_CASE("a run that never came to anything has a page too") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "run");
  std::ofstream(folder.path() / "run" / "spec.yaml") << "name: it\nbatch: {per_replica: 64}\n";
  std::ofstream metrics(folder.path() / "run" / "metrics.jsonl");
  std::string page = report_page({read_run_history(folder.path() / "run")});
  check_page(page);
  CHECK_THAT(page, ContainsSubstring("no end yet"));
  CHECK(count_of(page, "<figure>") == 0);
  // Fields of any type, and a training that diverged.
  metrics << R"({"event":"run_start","run":"distributed","steps_per_epoch":0,"devices":{"a":[1]},"strategy":7}
{"event":"step","run":"distributed","step":"x","loss":"nan"}
{"event":"step","run":"distributed","step":3,"loss":"inf","learning_rate":-1,"accuracy":[]}
{"event":"eval","run":"distributed"}
{"event":"run_end","run":"distributed","phases_ms":{"compute":"nan","update":-3},"status":"failed","error":"<diverged>"}
{"event":"comparison","baseline":3}
[1]
7
)" << std::flush;
  page = report_page({read_run_history(folder.path() / "run"), read_run_history(folder.path() / "run")});
  REQUIRE(page.rfind(kDoctype, 0) == 0);
  CHECK(is_well_formed(page.substr(std::string(kDoctype).size())));
  CHECK_THAT(page, ContainsSubstring("&lt;diverged&gt;") && ContainsSubstring("failed"));
  CHECK_THROWS_AS(read_run_history(folder.path()), Error);
}

TEST_CASE("the page shows the layers, what the model confuses, and its worst mistakes as pictures") {
  const TemporaryFolder folder;
  const std::vector<RunHistory> runs = {read_run_history(make_run(folder.path() / "run"))};
  ModelReport model;
  model.layers = {{"flatten", "flatten", "[784]", 0}, {"dense<1>", "dense", "[3]", 2355}};
  std::string page = report_page(runs, {model});
  check_page(page);
  CHECK_THAT(page, ContainsSubstring("dense&lt;1&gt;") && ContainsSubstring(">2,355<") &&
                       ContainsSubstring("[784]"));
  CHECK_THAT(page, !ContainsSubstring("What it confuses"));

  model.examined = "the checkpoint of step 5: 13 of 17 test examples are right";
  model.classes = {"0 cat", "1 <dog>", "2 owl"};
  model.confusion = {{5, 3, 0}, {0, 8, 1}, {0, 0, 0}};
  for (int i = 1; i < 4; ++i)
    model.mistakes.push_back({"cat/" + std::to_string(i) + "<.png",
                              std::string("a\0b", static_cast<size_t>(i)), "0 cat", "1 <dog>", 0.75, 0.125});
  page = report_page(runs, {model});
  check_page(page);
  CHECK_THAT(page,
             ContainsSubstring("13 of 17 test examples are right") && ContainsSubstring("1 &lt;dog&gt;"));
  for (const char* encoded : {"base64,YQ==\"", "base64,YQA=\"", "base64,YQBi\""})
    CHECK_THAT(page, ContainsSubstring(encoded));
  CHECK_THAT(page, ContainsSubstring("taken for 1 &lt;dog&gt; (75.0 %; 0 cat: 12.5 %)") &&
                       ContainsSubstring("<span>cat/2&lt;.png</span>"));
  CHECK_THAT(page, !ContainsSubstring("Calibration"));
  model.results =
      example_results("cross_entropy", {1, 1, 1, 1}, {0, 1, 1, 0}, {1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0});
  page = report_page(runs, {model});
  check_page(page);
  // Three of four are right, each with e / (e + 2) of probability; no example is an owl.
  CHECK_THAT(page, ContainsSubstring("Expected calibration error 0.1739, of 4 test examples"));
  CHECK_THAT(page, ContainsSubstring(
                       "<th scope=\"row\">1 &lt;dog&gt;</th><td>2</td><td>0.7500</td><td>0.7500</td>"));
  CHECK_THAT(page, !ContainsSubstring("<th scope=\"row\">2 owl</th><td>0</td>"));
  ModelReport rows = model;  // of a table
  rows.mistakes = {{"test.csv, row 13", "", "0 cat", "1 <dog>", 0.75, 0.125}};
  const std::string of_rows = report_page(runs, {rows});
  check_page(of_rows);
  CHECK_THAT(of_rows, ContainsSubstring("<th scope=\"row\">test.csv, row 13</th><td>0 cat</td>"
                                        "<td>1 &lt;dog&gt;</td><td>75.0 %</td><td>12.5 %</td>"));
  CHECK(count_of(page, "rgb(59 130 214 / ") == 2);  // the classes that were right at times
  CHECK(count_of(page, "rgb(209 73 91 / ") == 2);   // and the two confusions

  // Of many classes the table has the worst, and says so.
  std::vector<float> targets, outputs;
  for (int64_t label = 0; label < 45; ++label) {
    targets.push_back(static_cast<float>(label));
    for (int64_t output = 0; output < 45; ++output) outputs.push_back(output == label ? 1.0F : 0.0F);
  }
  ModelReport many = model;
  many.results = example_results("cross_entropy", std::vector<float>(45, 1), targets, outputs);
  CHECK_THAT(report_page(runs, {many}),
             ContainsSubstring("The 6 classes with the least area, and in the table 40 of 45."));

  // And of them the pairs that are confused most.
  model.classes.assign(50, "other");
  model.classes[7] = "seven";
  model.confusion.assign(50, std::vector<int64_t>(50, 1));
  model.confusion[7][8] = 1234;
  page = report_page(runs, {model});
  check_page(page);
  CHECK(count_of(page, "class=\"matrix\"") == 0);
  CHECK_THAT(page, ContainsSubstring("<th scope=\"row\">seven</th><td>other</td><td>1,234</td>"));
}

TEST_CASE("the page shows how busy the machine was") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "run");
  std::ofstream metrics(run / "metrics.jsonl", std::ios::app);
  metrics << '\n';
  for (const int seconds : {5, 10, 15, 5, 10})  // it was resumed
    metrics << R"({"event":"machine","run":"distributed","seconds":)" << seconds
            << R"(,"processors":0.9,"memory_bytes":4294967296,"memory_total_bytes":8589934592})" << '\n';
  metrics << R"({"event":"machine","run":"distributed"})" << std::endl;
  const std::string page = report_page({read_run_history(run)});
  check_page(page);
  CHECK(count_of(page, "<figure>") == 6 + 2 + 2);
  CHECK_THAT(page, ContainsSubstring("at work: 90 (seconds since the job began 5)") &&
                       ContainsSubstring("at work: 90 (seconds since the job began 25)") &&
                       ContainsSubstring("in use: 4 (") && ContainsSubstring("all there is: 8 ("));
}

TEST_CASE("what only some steps report is a line through these") {
  const TemporaryFolder folder;
  write_file(folder / "spec.yaml", "batch: {per_replica: 64}\n");
  std::ofstream metrics(folder / "metrics.jsonl");
  metrics << run_start("distributed", 1) << '\n';
  const int64_t events = GENERATE(10, 500);
  for (int64_t number = 1; number <= events; ++number) {
    Event line = step("distributed", 1, number);
    line.erase("gradient_norm");
    if (number % 5 == 0) line["gradient_norm"] = 1.5;
    metrics << line << '\n';
  }
  metrics.close();
  const std::string page = report_page({read_run_history(folder.path())});
  check_page(page);
  const size_t chart = page.find("Gradient norm");
  REQUIRE(chart != std::string::npos);
  const size_t line = page.find("class=\"line\"", chart);
  REQUIRE(line != std::string::npos);
  CHECK(page.substr(line, page.find("/>", line) - line).find('L') != std::string::npos);
}

TEST_CASE("a sweep has a page") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "sweep.json";
  const auto read = [&](const std::string& document) {
    std::ofstream(file) << document;
    return read_sweep(file);
  };
  Sweep sweep = read(event_text(sweep_document(sample_sweep())));
  CHECK(sweep_document(sweep).at("points") == sweep_document(sample_sweep()).at("points"));
  std::string page = sweep_page(sweep);
  check_page(page);
  for (const char* text :
       {"sweep of mnist_mirrored", "1.50 x", "75.0 %", ">64,000<", "2 replicas, batch 64 per replica",
        "failed: rank 3 failed first", "3 runs of 300 timed steps", "forward and backward"})
    CHECK_THAT(page, ContainsSubstring(text));
  CHECK(count_of(page, "<figure>") == 2);
  CHECK(count_of(page, "class=\"bar\"") == 2);
  for (const char* little : {"{}", "{\"points\":[{},{\"runs\":[{}]}],\"strategy\":\"<b>\"}"}) {
    page = sweep_page(read(little));
    CHECK(is_well_formed(page.substr(std::string(kDoctype).size())));
    CHECK(count_of(page, "<b>&lt;b&gt;</b>") + count_of(page, "<b></b>") > 0);
  }
  for (const char* damaged :
       {"", "[]", "{\"name\":7}", "{\"points\":[3]}", "{\"points\":[{\"runs\":[{\"phases_ms\":3}]}]}"}) {
    INFO(damaged);
    CHECK_THROWS_AS(read(damaged), Error);
  }
}

TEST_CASE("a long run's page stays small") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "run");
  std::ofstream metrics(run / "metrics.jsonl", std::ios::app);
  metrics << '\n';
  for (int64_t number = 1000; number < few_if_sanitized(21000, 4000); ++number)
    metrics << step("distributed", 3, number) << '\n';
  const std::string page = report_page({read_run_history(run)});
  check_page(page);
  CHECK(page.size() < 500'000);
}

}  // namespace
}  // namespace dtrain
