// Jobs on tables and arrays, from the file to predictions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "job.h"
#include "judge/example_results.h"
#include "resumable.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;

namespace fs = std::filesystem;

const char* const kTableSpec = R"(name: table
strategy: {kind: mirrored, replicas: 2}
data: {dataset: csv, path: rows.csv, target: y, split: {test: 0.25}}
batch: {per_replica: 8}
model: {kind: mlp, hidden: [16]}
train: {epochs: 4, loss: mean_squared_error, optimizer: {kind: adam, learning_rate: 1.0e-2}}
checkpoint: {every_epochs: 1}
)";

// y = 3 a - 2 b, 10 more for "high"; the columns are in different scales.
std::string rows(int count, bool with_targets = true) {
  std::string text = with_targets ? "a,b,level,y\n" : "level,b,a\n";
  for (int row = 0; row < count; ++row) {
    const double a = std::sin(row), b = std::cos(3.0 * row);
    const std::string level = row % 3 == 0 ? "high" : "low";
    const double y = 3 * a - 2 * b + (row % 3 == 0 ? 10 : 0);
    text += with_targets ? fmt::format("{},{},{},{}\n", 1000 * a, 1e-3 * b, level, y)
                         : fmt::format("{},{},{}\n", level, 1e-3 * b, 1000 * a);
  }
  return text;
}

std::vector<double> numbers_below_header(const std::string& csv, const std::string& header) {
  const std::vector<std::string> lines = lines_of(csv);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front() == header);
  std::vector<double> numbers;
  for (size_t i = 1; i < lines.size(); ++i) numbers.push_back(std::stod(lines[i]));
  return numbers;
}

TEST_CASE("a regression on a table is trained, evaluated, resumed, predicted and exported") {
  const Job job(kTableSpec);
  write_file(job.folder() / "rows.csv", rows(400));
  const Finished run = run_program(job.run({"--set", "train.epochs=2"}));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("rmse") && !ContainsSubstring("accuracy"));
  CHECK(job.event("run_start", "distributed").at("train_examples") == 300);
  CHECK(job.event("run_start", "distributed").at("test_examples") == 100);
  const std::string folder = job.run_folder().string();
  const Event first = job.event("run_end", "distributed");

  const Finished resumed = run_program({"run", "--resume", folder, "--set", "train.epochs=4"});
  INFO(resumed.output << resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  const Event end = job.events("run_end", "distributed").back();
  CHECK(end.at("rmse").get<double>() < first.at("rmse").get<double>());
  CHECK(end.at("r2").get<double>() > first.at("r2").get<double>());
  const Job whole(kTableSpec);
  write_file(whole.folder() / "rows.csv", rows(400));
  REQUIRE(run_program(whole.run()).exit_code == 0);
  CHECK(result_of(job) == result_of(whole));  // bit for bit

  const Finished eval = run_program({"eval", folder, "--json", "--replicas", "2"});
  INFO(eval.errors);
  REQUIRE(eval.exit_code == 0);
  const Event evaluated = Event::parse(eval.output);
  for (const char* metric : {"loss", "rmse", "mae", "r2"})
    CHECK(evaluated.at(metric).get<double>() == Approx(end.at(metric).get<double>()).epsilon(1e-5));
  CHECK(evaluated.at("examples") == 100);
  CHECK_FALSE(evaluated.contains("accuracy"));
  CHECK_THAT(eval.errors, !ContainsSubstring("other parts"));
  // With a row more, which leaves as many for the test, rows of the training are among those.
  write_file(job.folder() / "rows.csv", rows(401));
  const Finished grown = run_program({"eval", folder});
  CHECK(grown.exit_code == 0);
  CHECK_THAT(grown.errors, ContainsSubstring("data.split makes other parts here than in training, of 401 "
                                             "examples instead of 400: the model may have been trained on"));

  // Predictions need neither the training's file nor its statistics, and take columns in any order.
  fs::remove(job.folder() / "rows.csv");
  const fs::path fresh = write_file(job.folder() / "fresh.csv", rows(50, /*with_targets=*/false));
  const Finished predicted = run_program({"predict", folder, fresh.string()});
  INFO(predicted.errors);
  REQUIRE(predicted.exit_code == 0);
  const std::vector<double> values = numbers_below_header(predicted.output, "y");
  REQUIRE(values.size() == 50);
  double squares = 0;
  for (int row = 0; row < 50; ++row) {
    const double y = 3 * std::sin(row) - 2 * std::cos(3.0 * row) + (row % 3 == 0 ? 10 : 0);
    squares += std::pow(values[static_cast<size_t>(row)] - y, 2);
  }
  CHECK(std::sqrt(squares / 50) == Approx(end.at("rmse").get<double>()).epsilon(0.5));  // of other rows
  const Finished short_of_a =
      run_program({"predict", folder, write_file(job.folder() / "b.csv", "b\n1\n").string()});
  CHECK(short_of_a.exit_code == 3);
  CHECK_THAT(short_of_a.errors, ContainsSubstring("there is no column 'a'"));

  for (const std::string format : {"onnx", "torchscript", "safetensors"}) {
    const std::string exported = (job.folder() / ("model." + format)).string();
    const Finished done = run_program({"export", "--format", format, folder, "--out", exported});
    INFO(done.errors);
    CHECK(done.exit_code == 0);
  }
  CHECK_THAT(content_of(job.folder() / "model.onnx"),
             ContainsSubstring("inputs") && ContainsSubstring("values") && ContainsSubstring("targets") &&
                 !ContainsSubstring("normalise"));
  const Finished softmax = run_program({"export", "--format", "onnx", folder, "--softmax", "--overwrite"});
  CHECK(softmax.exit_code == 2);
  CHECK_THAT(softmax.errors, ContainsSubstring("the model gives numbers, and no probabilities"));
  const Finished report = run_program({"report", folder});
  INFO(report.errors);
  CHECK(report.exit_code == 0);
}

// A .npy file as numpy.save() writes it.
template <typename Number>
std::string npy(const std::string& type, const std::string& shape, const std::vector<Number>& numbers) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize(118 - 1, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
         std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

TEST_CASE("bytes in a .npy file are pixels for predictions of numbers, too") {
  const Job job(R"(name: pixels
data: {dataset: arrays, path: arrays}
batch: {per_replica: 4}
model: {kind: layers, layers: [{kind: flatten}, {kind: dense, units: 1}]}
train: {epochs: 1, loss: mean_squared_error}
)");
  const std::vector<uint8_t> bytes = {0, 255, 7, 100, 200, 50, 1, 2, 90, 91, 92, 93, 255, 0, 255, 128};
  const std::vector<float> pixels = [&] {
    std::vector<float> numbers;
    for (const uint8_t byte : bytes) numbers.push_back(static_cast<float>(byte) / 255);
    return numbers;
  }();
  fs::create_directories(job.folder() / "arrays");
  for (const char* part : {"train", "test"}) {
    write_file(job.folder() / "arrays" / fmt::format("x_{}.npy", part), npy("|u1", "(4, 1, 2, 2)", bytes));
    write_file(job.folder() / "arrays" / fmt::format("y_{}.npy", part),
               npy<float>("<f4", "(4,)", {0.5, -1, 2, 1}));
  }
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const auto predicted = [&](const std::string& content) {
    const Finished done = run_program(
        {"predict", job.run_folder().string(), write_file(job.folder() / "x.npy", content).string()});
    INFO(done.errors);
    REQUIRE(done.exit_code == 0);
    return done.output;
  };
  CHECK(predicted(npy("|u1", "(4, 1, 2, 2)", bytes)) == predicted(npy("<f4", "(4, 1, 2, 2)", pixels)));
  // The data are at fault, and the other file is predicted.
  write_file(job.folder() / "bad.npy", npy<float>("<f4", "(2, 1, 2, 2)", {0, 1, 0, 1, 0, NAN, 0, 1}));
  const Finished refused =
      run_program({"predict", job.run_folder().string(), (job.folder() / "bad.npy").string(),
                   (job.folder() / "x.npy").string()});
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.errors, ContainsSubstring("bad.npy: not all numbers of example 1, counted from 0, are"));
  const std::vector<std::string> lines = lines_of(refused.output);
  REQUIRE(lines.size() == 5);
  CHECK(lines.front() == "file,target_0");
  CHECK_THAT(lines.back(), StartsWith((job.folder() / "x.npy").string() + ","));
}

TEST_CASE("bytes in a .npy file are pixels for predictions of classes") {
  const Job job(R"(name: pixels
data: {dataset: arrays, path: arrays}
batch: {per_replica: 4}
model: {kind: layers, layers: [{kind: flatten}, {kind: dense, units: 2}]}
train: {epochs: 1}
)");
  const std::vector<uint8_t> bytes = {0, 255, 7, 100, 200, 50, 1, 2, 90, 91, 92, 93, 255, 0, 255, 128};
  fs::create_directories(job.folder() / "arrays");
  for (const char* part : {"train", "test"}) {
    write_file(job.folder() / "arrays" / fmt::format("x_{}.npy", part), npy("|u1", "(4, 1, 2, 2)", bytes));
    write_file(job.folder() / "arrays" / fmt::format("y_{}.npy", part),
               npy<int64_t>("<i8", "(4,)", {0, 1, 1, 0}));
  }
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const auto predicted = [&](const std::string& content) {
    return run_program(
        {"predict", job.run_folder().string(), "--json", write_file(job.folder() / "x", content).string()});
  };
  const Finished of_numpy = predicted(npy("|u1", "(4, 1, 2, 2)", bytes));
  INFO(of_numpy.errors);
  CHECK(of_numpy.exit_code == 0);
  CHECK(std::ranges::count(of_numpy.output, '\n') == 4);
  // The same pixels as an IDX file.
  const std::string idx("\0\0\x08\x03\0\0\0\x04\0\0\0\x02\0\0\0\x02", 16);
  CHECK(of_numpy.output == predicted(idx + std::string(bytes.begin(), bytes.end())).output);
  CHECK(of_numpy.output == predicted(npy("|u1", "(4, 2, 2)", bytes)).output);
  const Finished channels_last = predicted(npy("|u1", "(2, 2, 2, 2)", bytes));
  CHECK(channels_last.exit_code == 3);
  CHECK_THAT(channels_last.errors, ContainsSubstring("2 channels, and the model takes 1"));
  // Nothing would normalise numbers.
  for (const char* part : {"train", "test"})
    write_file(job.folder() / "arrays" / fmt::format("x_{}.npy", part),
               npy<float>("<f4", "(4, 1, 2, 2)", {bytes.begin(), bytes.end()}));
  const Finished of_numbers = run_program({"eval", job.run_folder().string()});
  CHECK(of_numbers.exit_code == 3);
  CHECK_THAT(of_numbers.errors,
             ContainsSubstring("has numbers of another type, and the model was trained on unsigned bytes"));
}

TEST_CASE("bytes are refused by a model that was trained on other numbers: they would be divided by 255") {
  const bool of_classes = GENERATE(true, false);
  const std::string loss = of_classes ? "cross_entropy" : "mean_squared_error",
                    targets = of_classes ? npy<int64_t>("<i8", "(4,)", {0, 1, 1, 0})
                                         : npy<float>("<f4", "(4, 2)", {0.5, -1, 2, 1, 3, 1, 0, 2});
  const Job job(R"(name: numbers
data: {dataset: arrays, path: arrays}
batch: {per_replica: 4}
model: {kind: layers, layers: [{kind: flatten}, {kind: dense, units: 2}]}
train: {epochs: 1}
)");
  const std::vector<uint8_t> bytes = {0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2};
  const std::string of_bytes = npy("|u1", "(4, 1, 2, 2)", bytes),
                    of_floats = npy<float>("<f4", "(4, 1, 2, 2)", {bytes.begin(), bytes.end()});
  fs::create_directories(job.folder() / "arrays");
  const auto save = [&](const std::string& inputs) {
    for (const char* part : {"train", "test"}) {
      write_file(job.folder() / "arrays" / fmt::format("x_{}.npy", part), inputs);
      write_file(job.folder() / "arrays" / fmt::format("y_{}.npy", part), targets);
    }
  };
  save(of_floats);
  require_done(run_program(job.run({"--set", "train.loss=" + loss})));
  const auto predicted = [&](const std::string& content) {
    return run_program(
        {"predict", job.run_folder().string(), write_file(job.folder() / "x.npy", content).string()});
  };
  CHECK(predicted(of_floats).exit_code == 0);
  save(of_bytes);
  for (const Finished& refused :
       {predicted(of_bytes), run_program({"eval", job.run_folder().string(), "--replicas", "2"})}) {
    CHECK(refused.exit_code == 3);
    CHECK_THAT(refused.errors,
               ContainsSubstring("has unsigned bytes, and the model was trained on numbers of another type"));
  }
}

TEST_CASE("a column that is called row is predicted, but not in lines that have a row of their own") {
  const Job job(R"(name: seats
data: {dataset: csv, path: rows.csv, target: row, split: {test: 0.25}}
batch: {per_replica: 4}
model: {kind: mlp, hidden: [2]}
train: {epochs: 1, loss: mean_squared_error}
)");
  const std::string rows = "a,row\n1,2\n2,3\n3,5\n4,4\n5,6\n6,8\n7,7\n8,9\n";
  const std::string file = write_file(job.folder() / "rows.csv", rows).string();
  require_done(run_program(job.run()));
  const Arguments predict = {"predict", job.run_folder().string(), file};
  CHECK(run_program(predict).output.starts_with("row\n"));
  const Finished refused = run_program(predict + Arguments{"--json"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("with --json, 'row' is the row that a line is about"));
}

TEST_CASE("a German table goes from Excel to predictions, with no field set by hand") {
  const TemporaryFolder folder;
  ProgramOptions there;
  there.working_folder = folder.path().string();
  const auto german = [](double number, int digits) {  // 1.234,56
    std::string text = fmt::format("{:.{}f}", std::fabs(number), digits);
    if (const size_t point = text.find('.'); point != std::string::npos) text[point] = ',';
    for (size_t at = std::min(text.find(','), text.size()); at > 3; at -= 3) text.insert(at - 3, ".");
    return (number < 0 ? "-" : "") + text;
  };
  std::string text =
                  "\xEF\xBB\xBFNr;Einwohner;Fl\xC3\xA4"
                  "che;Land;Preis\r\n",
              plain = "id,people,area,land,price\n";
  for (int row = 1; row <= 200; ++row) {
    const int people = 500 + row * 137 % 9000;
    const double area = 10 + 5 * std::sin(row), price = 100 * area + people * 0.25;
    const std::string land = row % 3 == 0 ? "Hessen" : "Bayern";
    text +=
        fmt::format("{};{};{};{};{}\r\n", row, german(people, 0), german(area, 2), land, german(price, 2));
    plain += fmt::format("{},{},{:.2f},{},{:.2f}\n", row, people, area, land, price);
  }
  write_file(folder / "preise.csv", text);
  write_file(folder / "plain.csv", plain);
  const auto run = [&](const std::vector<std::string>& arguments) {
    const Finished finished = run_program(arguments, there);
    INFO(finished.output << finished.errors);
    CHECK(finished.exit_code == 0);
    return finished;
  };
  run({"init", "job.yaml", "--from", "preise.csv"});
  CHECK_THAT(content_of(folder / "job.yaml"), ContainsSubstring("\n  target: [Preis]\n") &&
                                                  ContainsSubstring("\n  id: Nr\n") &&
                                                  ContainsSubstring("kind: mean_squared_error\n"));
  CHECK_THAT(run({"data", "check", "job.yaml"}).output, ContainsSubstring("nothing odd was found"));
  const Finished plan = run({"plan", "job.yaml"});
  CHECK_THAT(plan.output,
             ContainsSubstring("separated by semicolons; numbers with a decimal comma and thousands "
                               "points; words: Land\n"));
  CHECK(plan.errors.empty());
  // The same numbers in a plain table train the same model.
  run({"init", "plain.yaml", "--from", "plain.csv", "--set", "name=job"});
  for (const std::string name : {"job", "plain"})
    run({"run", name + ".yaml", "--run-dir", "run_" + name, "--quiet", "--set", "train.epochs=3"});
  const Event german_eval = Event::parse(run({"eval", "run_job", "--json"}).output);
  const Event plain_eval = Event::parse(run({"eval", "run_plain", "--json"}).output);
  CHECK(german_eval.at("loss") == plain_eval.at("loss"));
  std::string elsewhere = text;
  for (size_t at = 0; (at = elsewhere.find("Bayern", at)) != std::string::npos;)
    elsewhere.replace(at, 6, "Berlin");
  write_file(folder / "elsewhere.csv", elsewhere);
  CHECK_THAT(run({"eval", "run_job", "--data", "elsewhere.csv"}).errors,
             ContainsSubstring("column 'Land', 134 of 200 rows: a word that no training example has, such as "
                               "'Berlin' (row 1)"));
  // New rows need no Preis. A word that is new is counted.
  write_file(folder / "neu.csv",
             "Nr;Einwohner;Fl\xC3\xA4"
             "che;Land\r\nA1;1.234;12,5;Hessen\r\nA2;999;8;Saarland\r\n");
  const Finished predicted = run({"predict", "run_job", "neu.csv", "--json"});
  CHECK_THAT(predicted.errors,
             ContainsSubstring("WARNING: neu.csv: column 'Land', 1 of 2 rows: a word that no "
                               "training example has, such as 'Saarland' (row 2)"));
  write_file(folder / "new.csv", "id,people,area,land\n1,1234,12.5,Hessen\n2,999,8,Saarland\n");
  const std::vector<std::string> lines = lines_of(predicted.output),
                                 others = lines_of(run({"predict", "run_plain", "new.csv", "--json"}).output);
  REQUIRE(lines.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(Event::parse(lines[i]).at("Preis").is_number());
    CHECK(Event::parse(lines[i]).at("Preis") == Event::parse(others[i]).at("price"));
  }
}

TEST_CASE("classes of a table have their names everywhere") {
  const Job job(R"(name: classes
data: {dataset: csv, path: ., target: kind}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [16]}
train: {epochs: 20, optimizer: {kind: adam, learning_rate: 1.0e-2}}
)");
  std::string text = "x,kind\n";
  for (int row = 0; row < 300; ++row)
    text += fmt::format("{},{}\n", row % 100, row % 100 < 50 ? "small" : "large");
  write_file(job.folder() / "train.csv", text);
  write_file(job.folder() / "test.csv", "kind,x\nsmall,3\nlarge,96\nlarge,88\n");
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const std::string folder = job.run_folder().string();
  const Finished eval = run_program({"eval", folder});
  CHECK_THAT(eval.output, ContainsSubstring("accuracy    1.0000, 3 of 3 are right") &&
                              ContainsSubstring("0 large") && ContainsSubstring("1 small"));
  const Finished predicted = run_program({"predict", folder, (job.folder() / "test.csv").string()});
  const std::vector<std::string> lines = lines_of(predicted.output);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "kind,p_large,p_small");
  CHECK_THAT(lines[1], Catch::Matchers::StartsWith("small,"));
  CHECK_THAT(lines[2], Catch::Matchers::StartsWith("large,"));
  const Finished json = run_program({"predict", folder, "--json", (job.folder() / "test.csv").string()});
  CHECK(Event::parse(lines_of(json.output).front()).at("kind") == "small");
  CHECK(Event::parse(lines_of(json.output).front()).at("p_small").is_number());
  const Finished binary =
      run_program({"run", job.spec_file().string(), "--run-dir", (job.folder() / "binary").string(), "--set",
                   "train.loss=binary_cross_entropy"});
  INFO(binary.output << binary.errors);
  REQUIRE(binary.exit_code == 0);
  CHECK_THAT(run_program({"eval", (job.folder() / "binary").string()}).output,
             ContainsSubstring("precision   1.0000") && ContainsSubstring("1 small"));
  CHECK_THAT(
      run_program({"predict", (job.folder() / "binary").string(), (job.folder() / "test.csv").string()})
          .output,
      ContainsSubstring("kind,p_large,p_small\nsmall,"));
  const auto at_threshold = [&](const std::string& of, const std::string& threshold) {
    return run_program({"predict", (job.folder() / of).string(), (job.folder() / "test.csv").string(),
                        "--threshold", threshold});
  };
  CHECK_THAT(at_threshold("binary", "0").output,
             ContainsSubstring("\nsmall,") && !ContainsSubstring("\nlarge,"));
  CHECK_THAT(at_threshold("binary", "1").output,
             ContainsSubstring("\nlarge,") && !ContainsSubstring("\nsmall,"));
  const Finished other_loss = at_threshold(job.run_folder().filename().string(), "0.5");
  CHECK(other_loss.exit_code == 2);
  CHECK_THAT(other_loss.errors, ContainsSubstring("--threshold is for models of binary_cross_entropy"));
}

TEST_CASE("balanced class weights are the same as these weights, and resumed with them") {
  const std::string text = R"(name: weighed
strategy: {kind: mirrored, replicas: 2}
data: {dataset: csv, path: rows.csv, target: kind, split: {test: 0.25}}
batch: {per_replica: 8}
model: {kind: mlp, hidden: [8]}
train: {epochs: 2, loss: {class_weights: WEIGHTS}}
checkpoint: {every_epochs: 1}
)";
  std::string rows = "x,kind\n";
  for (int row = 0; row < 200; ++row)
    rows += fmt::format("{},{}\n", row % 50, row % 50 < 40 ? "often" : "rarely");
  const auto job_with = [&](const std::string& weights) {
    return Job(replace_once(text, "WEIGHTS", weights));
  };
  const Job balanced = job_with("balanced");
  write_file(balanced.folder() / "rows.csv", rows);
  const Finished run = run_program(balanced.run({"--set", "train.epochs=1"}));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const size_t line = run.output.find("balanced class weights: 0 often ");
  REQUIRE(line != std::string::npos);
  REQUIRE(
      run_program({"run", "--resume", balanced.run_folder().string(), "--set", "train.epochs=2"}).exit_code ==
      0);

  // By hand: 150 of 200 rows are trained on.
  const Finished predicted =
      run_program({"eval", balanced.run_folder().string(), "--split", "train", "--json"});
  const Event counts = Event::parse(predicted.output).at("classes");
  const double often = counts[0].at("examples").get<double>(),
               rarely = counts[1].at("examples").get<double>();
  CHECK(often + rarely == 150);
  const Job by_name =
      job_with(fmt::format("{{rarely: {}, often: {}}}", 150 / (2 * rarely), 150 / (2 * often)));
  write_file(by_name.folder() / "rows.csv", rows);
  REQUIRE(run_program(by_name.run()).exit_code == 0);
  CHECK(result_of(balanced) == result_of(by_name));  // bit for bit

  write_file(balanced.folder() / "rows.csv", rows + "7,often\n");
  const Finished report = run_program({"report", balanced.run_folder().string()});
  CHECK(report.exit_code == 0);
  CHECK_THAT(report.errors, ContainsSubstring("the page has no confusion matrix and no mistakes: data.split "
                                              "makes other parts here than in training"));
}

TEST_CASE("a model that does not fit its table is refused with the reason") {
  const Job job(kTableSpec);
  write_file(job.folder() / "rows.csv", rows(40));
  const auto plan = [&](const Arguments& overrides, int exit_code = 2) {
    const Finished finished = run_program(Arguments{"plan", job.spec_file().string()} + Job::set(overrides));
    CHECK(finished.exit_code == exit_code);
    return finished.errors;
  };
  CHECK_THAT(plan({"model.kind=cnn"}),
             ContainsSubstring("expects an input of [channels, height, width] but gets [4]"));
  CHECK_THAT(plan({"model.kind=layers", "model.layers=[{kind: dense, units: 2}]"}),
             ContainsSubstring("one target needs [1]"));
  CHECK_THAT(plan({"data.split.test=none"}), ContainsSubstring("data.split.test: missing"));
  CHECK_THAT(plan({"data.target=z"}, 3), ContainsSubstring("there is no column 'z'"));
  CHECK_THAT(plan({"checkpoint.best.metric=accuracy"}),
             ContainsSubstring("mean_squared_error has no accuracy; its metrics: loss, rmse, mae, r2"));
}

TEST_CASE("an evaluation by several processes knows every example, also where its loss is infinite") {
  const Job job(kTableSpec);
  write_file(job.folder() / "rows.csv", rows(400));
  require_done(run_program(job.run({"--set", "train.epochs=1"})));
  std::string far = rows(400);  // whose squared errors no float32 holds
  for (size_t end = far.find('\n') + 1; (end = far.find('\n', end)) != std::string::npos; end += 4)
    far.insert(end, "e25");
  write_file(job.folder() / "rows.csv", far);
  const auto evaluated = [&](const std::string& replicas) {
    const Finished run = run_program({"eval", job.run_folder().string(), "--json", "--replicas", replicas});
    require_done(run);
    return Event::parse(run.output);
  };
  const Event alone = evaluated("1"), shared = evaluated("2");
  CHECK(alone.at("loss").get<double>() > 1e50);
  CHECK(shared.at("loss").get<double>() == Approx(alone.at("loss").get<double>()));
  CHECK(alone.at("intervals").contains("mae"));
  CHECK(shared.at("intervals") == alone.at("intervals"));
}

TEST_CASE("a run with kept features is compared with one without, row by row") {
  const auto trained = [](const Job& job, const char* cache) {
    write_file(job.folder() / "rows.csv", rows(400));
    require_done(run_program(job.run({"--set", fmt::format("phases[1].cache_features={}", cache)})));
    return read_examples(job.run_folder() / kExamplesFile)->examples;
  };
  const std::string spec = std::string(kTableSpec) +
                           "phases: [{epochs: 1}, {epochs: 1, trainable: head, cache_features: memory}]\n";
  const std::string table = spec.substr(0, spec.find("epochs: 4, ")) + spec.substr(spec.find("loss: mean"));
  const Job kept(table), without(table);
  CHECK(trained(kept, "memory") == trained(without, "none"));
  CHECK(kept.events("phase", "distributed").at(1).contains("feature_bytes"));
}

}  // namespace
}  // namespace dtrain
