// dtrain predict: what a saved model makes of images in files.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "architectures/architectures.h"
#include "catch.h"
#include "command_line.h"
#include "copied_variables.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "files.h"
#include "job_file/load.h"
#include "job_file/print.h"
#include "models/model.h"
#include "models/variables.h"
#include "saved_run.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;

StoredExamples test_examples() {
  const LoadedSpec loaded = parse_spec(kSavedSpec, "spec");
  return stored_examples_of(*load_dataset(loaded.spec.data, static_cast<uint64_t>(loaded.spec.seed)).test);
}

std::string pgm(const at::Tensor& image) {
  const at::Tensor pixels = image.contiguous();
  const std::string data(static_cast<const char*>(pixels.const_data_ptr()), pixels.nbytes());
  return "P5 " + std::to_string(image.size(2)) + " " + std::to_string(image.size(1)) + " 255\n" + data;
}

std::string idx(const at::Tensor& images) {
  std::string bytes("\0\0\x08\x03", 4);
  for (const int64_t size : {images.size(0), images.size(2), images.size(3)})
    bytes += std::string(3, '\0') + static_cast<char>(size);
  return bytes + std::string(static_cast<const char*>(images.const_data_ptr()), images.nbytes());
}

std::vector<nlohmann::json> lines_of(const std::string& output) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST_CASE("a job that flips predicts the mean of what it says of a picture and of its mirror image") {
  const TemporaryFolder folder;
  const std::filesystem::path plain = save_run(folder.path());
  const std::filesystem::path flips = save_run(folder / "flips", [](Checkpoint& checkpoint) {
    LoadedSpec loaded = parse_spec(kSavedSpec, "spec", {"evaluate.flip=true"});
    checkpoint.state.spec = print_spec(loaded.spec);
  });
  const at::Tensor image = test_examples().inputs[0];
  const std::string as_is = folder.write("as_is.pgm", pgm(image));
  const std::string mirrored = folder.write("mirrored.pgm", pgm(image.flip({2})));
  const auto probabilities = [](const std::filesystem::path& run, const std::string& file) {
    std::map<int, double> by_class;
    const auto lines = lines_of(dtrain_command({"predict", run, file, "--json"}).output);
    for (const auto& each : lines.at(0).at("predictions"))
      by_class[each.at("class")] = each.at("probability");
    return by_class;
  };
  const auto one = probabilities(plain, as_is), other = probabilities(plain, mirrored);
  CHECK(one != other);
  for (const auto& file : {as_is, mirrored}) {
    const auto mean = probabilities(flips, file);
    for (const int label : {0, 1, 2}) CHECK(mean.at(label) == Approx((one.at(label) + other.at(label)) / 2));
  }
}

TEST_CASE("predict says of each image what eval counts of it") {
  const TemporaryFolder folder;
  const std::string run = save_run(folder.path());
  const StoredExamples examples = test_examples();
  std::vector<std::string> single = {"predict", run, "--json", "--top", "1"};
  for (int64_t i = 0; i < examples.size(); ++i)
    single.push_back(folder.write(std::to_string(i) + ".pgm", pgm(examples.inputs[i])));
  const Outcome one_by_one = dtrain_command(single);
  INFO(one_by_one.errors);
  REQUIRE(one_by_one.exit_code == 0);
  const auto predicted = lines_of(one_by_one.output);
  REQUIRE(predicted.size() == 33);
  std::vector<std::vector<int64_t>> confusion(3, std::vector<int64_t>(3));
  for (size_t i = 0; i < predicted.size(); ++i) {
    CHECK(predicted[i].at("file") == single[5 + i]);
    REQUIRE(predicted[i].at("predictions").size() == 1);
    const auto label = examples.targets[static_cast<int64_t>(i)].item<int64_t>();
    ++confusion[static_cast<size_t>(label)][predicted[i]["predictions"][0]["class"].get<size_t>()];
  }
  const auto evaluated = nlohmann::json::parse(dtrain_command({"eval", run, "--json"}).output);
  CHECK(evaluated.at("confusion") == nlohmann::json(confusion));

  // All in one file it is the same, and probabilities are those of all classes.
  const Outcome together =
      dtrain_command({"predict", run, folder.write("all", idx(examples.inputs)), "--json"});
  const auto all = lines_of(together.output);
  REQUIRE(all.size() == 33);
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].at("index") == i);
    const auto& classes = all[i].at("predictions");
    REQUIRE(classes.size() == 3);
    CHECK(classes[0].at("class") == predicted[i]["predictions"][0]["class"]);
    double sum = 0, before = 1;
    for (const auto& each : classes) {
      const double probability = each.at("probability");
      CHECK(probability <= before);
      sum += before = probability;
    }
    CHECK(sum == Approx(1));
  }
}

TEST_CASE("a bad file does not keep the others from being predicted") {
  const TemporaryFolder folder;
  const std::string run = save_run(folder.path());
  const std::string good = folder.write("good.pgm", pgm(test_examples().inputs[0]));
  const std::string large = folder.write("large.pgm", pgm(at::full({1, 6, 6}, 9, at::kByte)));
  const std::string broken = folder.write("broken.png", "\x89PNG that is none");
  const Outcome outcome = dtrain_command({"predict", run, broken, large, folder / "none.png", good});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.errors,
             ContainsSubstring(broken + ": no sound PNG") && ContainsSubstring("none.png: cannot be") &&
                 ContainsSubstring(large + ": 6 x 6 pixels, and the model takes 4 x 4: --resize"));
  CHECK_THAT(outcome.output, StartsWith(good + "  ") && !ContainsSubstring("large"));

  const Outcome resized = dtrain_command({"predict", run, large, "--resize", "--json"});
  CHECK(resized.exit_code == 0);
  CHECK(lines_of(resized.output).size() == 1);
  const auto failed = lines_of(dtrain_command({"predict", run, broken, "--json"}).output);
  REQUIRE(failed.size() == 1);
  CHECK_THAT(failed[0].at("error").get<std::string>(), ContainsSubstring("no sound PNG"));
}

TEST_CASE("a file of the wrong sort is told what the model takes") {
  const TemporaryFolder folder;
  std::string rows = "a,b,price\n";
  for (int row = 0; row < 30; ++row) rows += std::to_string(row) + ",2," + std::to_string(row) + "\n";
  const std::string table = folder.write("rows.csv", rows);
  const std::string picture = folder.write("a.pgm", pgm(at::full({1, 4, 4}, 255, at::kByte)));
  const Outcome of_table = dtrain_command({"predict", save_run(folder.path()), table});
  CHECK(of_table.exit_code == 3);
  CHECK_THAT(
      of_table.errors,
      ContainsSubstring("rows.csv: no JPEG, PNG, WebP, TIFF, GIF, BMP, PPM, PGM or IDX file of images"));
  const std::string run = save_run(folder / "table", [&](Checkpoint& checkpoint) {
    const LoadedSpec loaded =
        parse_spec("data: {dataset: csv, path: " + table + ", target: price, split: {test: 0.5}}\n" +
                       "batch: {per_replica: 1}\nmodel: {kind: mlp, hidden: [5]}\n"
                       "train: {loss: mean_squared_error}\n",
                   "spec");
    checkpoint.state.spec = print_spec(loaded.spec);
    const LayerPlan plan = place_layers(expand_layers(loaded.spec.model, 1), {2}, 1);
    checkpoint.model = copy_variables(*build_model(plan, at::kFloat, 7));
  });
  const Outcome of_picture = dtrain_command({"predict", run, picture});
  INFO(of_picture.errors);
  CHECK(of_picture.exit_code == 3);
  CHECK_THAT(of_picture.errors,
             ContainsSubstring("a.pgm: no table, and this model takes CSV or Parquet files "
                               "with the columns a, b\n"));
}

TEST_CASE("predictions of a table begin with the column that names its rows, which is not trained on") {
  const TemporaryFolder folder;
  std::string rows = "who,a,b,price\n";
  for (int row = 0; row < 30; ++row) rows += fmt::format("n{},{},{},{}\n", row, row, row % 7, row);
  const std::string table = folder.write("rows.csv", rows);
  const auto predicted = [&](const std::string& column, const std::vector<std::string>& arguments) {
    const std::string run = save_run(folder / column, [&](Checkpoint& checkpoint) {
      const LoadedSpec loaded = parse_spec("data: {dataset: csv, path: " + table + ", target: price, " +
                                               column + ": who, split: {test: 0.5}}\n" +
                                               "batch: {per_replica: 1}\nmodel: {kind: mlp, hidden: [5]}\n"
                                               "train: {loss: mean_squared_error}\n",
                                           "spec");
      checkpoint.state.spec = print_spec(loaded.spec);
      const LayerPlan plan = place_layers(expand_layers(loaded.spec.model, 1), {2}, 1);
      checkpoint.model = copy_variables(*build_model(plan, at::kFloat, 7));
    });
    std::vector<std::string> command = {"predict", run};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Outcome outcome = dtrain_command(command);
    INFO(outcome.errors);
    CHECK(outcome.exit_code == (arguments.front().ends_with("short.csv") ? 3 : 0));
    return outcome;
  };
  const std::string fresh = folder.write("fresh.csv", "b,who,a\n1,\"x, \"\"y\"\"\",5\n2,,6\n");
  std::istringstream with(predicted("id", {fresh}).output), without(predicted("ignore", {fresh}).output);
  for (const std::string id : {"who", "\"x, \"\"y\"\"\"", "\"\""}) {
    std::string line, alone;
    std::getline(with, line);
    std::getline(without, alone);
    CHECK(line == id + "," + alone);
  }
  CHECK_THAT(predicted("id", {fresh, fresh}).output,
             StartsWith("file,who,price\n" + fresh + ",\"x, \"\"y\"\"\","));
  const auto lines = lines_of(predicted("id", {fresh, "--json"}).output);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("who") == "x, \"y\"");
  CHECK(lines[1].at("row") == 2);
  CHECK_THAT(predicted("id", {folder.write("short.csv", "b,a\n1,5\n")}).errors,
             ContainsSubstring("short.csv: there is no column 'who'"));
}

TEST_CASE("what is predicted is numbers, or the checkpoint is refused") {
  const TemporaryFolder folder;
  const std::string image = folder.write("a.pgm", pgm(at::full({1, 4, 4}, 255, at::kByte)));
  for (const float value : {std::nanf(""), INFINITY, 3e38F}) {
    std::filesystem::remove_all(folder / "run");
    const std::string run = save_run(
        folder.path(), [&](Checkpoint& checkpoint) { checkpoint.model.front().second.fill_(value); });
    for (const auto& command : {std::vector<std::string>{"predict", run, image}, {"eval", run}}) {
      const Outcome outcome = dtrain_command(command);
      INFO(command[0] << " with " << value << ": " << outcome.output);
      CHECK(outcome.exit_code == 7);
      CHECK_THAT(outcome.errors, ContainsSubstring("no finite numbers"));
      CHECK_THAT(outcome.output, !ContainsSubstring("nan"));
    }
  }
}

TEST_CASE("predict needs a checkpoint and a file") {
  const TemporaryFolder folder;
  CHECK(dtrain_command({"predict", folder / "none", "a.png"}).exit_code == 7);
  CHECK(dtrain_command({"predict", save_run(folder.path())}).exit_code == 2);
  CHECK(dtrain_command({"predict", save_run(folder.path()), "a.png", "--top", "0"}).exit_code == 2);
}

TEST_CASE("predict takes the pictures of a folder and of those below it, by name") {
  const TemporaryFolder folder;
  const std::filesystem::path run = save_run(folder.path());
  const at::Tensor images = test_examples().inputs;
  std::filesystem::create_directories(folder / "all/rose");
  std::filesystem::create_directories(folder / "all/.hidden");
  std::filesystem::create_directory_symlink("..", folder / "all/rose/loop");
  const std::string first = folder.write("all/b.pgm", pgm(images[0]));
  const std::string second = folder.write("all/rose/a.PGM", pgm(images[1]));
  folder.write("all/rose/c.heic", "ftyp");
  folder.write("all/.hidden/d.pgm", pgm(images[2]));
  const std::string other = folder.write("x.pgm", pgm(images[3]));
  const Outcome outcome = dtrain_command({"predict", run, folder / "all", other, "--json"});
  INFO(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.errors, ContainsSubstring("all: 1 file is left out: 1 .heic; dtrain reads .jpg"));
  const auto lines = lines_of(outcome.output);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].at("file") == first);
  CHECK(lines[1].at("file") == second);
  CHECK(lines[2].at("file") == other);
  CHECK(lines[1] == lines_of(dtrain_command({"predict", run, second, "--json"}).output)[0]);

  std::filesystem::create_directories(folder / "empty");
  const Outcome empty = dtrain_command({"predict", run, folder / "empty", other});
  CHECK(empty.exit_code == 3);
  CHECK_THAT(empty.errors, ContainsSubstring("empty: there are no pictures (.jpg"));
  CHECK_THAT(empty.output, StartsWith(other + "  "));
}

TEST_CASE("predictions of pictures as a table have the probability of each class") {
  const TemporaryFolder folder;
  const std::filesystem::path run = save_run(folder.path());
  const at::Tensor images = test_examples().inputs;
  const std::string one = folder.write("a,b.pgm", pgm(images[0]));
  const std::string many = folder.write("many.idx", idx(images.narrow(0, 0, 2)));
  const Outcome outcome = dtrain_command({"predict", run, one, many, "--csv", "--top", "1"});
  REQUIRE(outcome.exit_code == 0);
  std::istringstream text(outcome.output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "file,class,p_0,p_1,p_2");
  CHECK_THAT(lines[1], StartsWith("\"" + one + "\","));
  CHECK_THAT(lines[2], StartsWith(many + "[0],"));
  CHECK_THAT(lines[3], StartsWith(many + "[1],"));
  CHECK(lines[1].substr(one.size() + 2) == lines[2].substr(many.size() + 3));  // the same picture
  const auto best = lines_of(dtrain_command({"predict", run, one, "--json"}).output)[0].at("predictions")[0];
  std::istringstream cells(lines[2].substr(many.size() + 4));
  std::string cell;
  std::getline(cells, cell, ',');
  CHECK(cell == std::to_string(best.at("class").get<int>()));
  double sum = 0;
  for (int label = 0; std::getline(cells, cell, ','); ++label) {
    sum += std::stod(cell);
    if (label == best.at("class")) CHECK(std::stod(cell) == Approx(best.at("probability").get<double>()));
  }
  CHECK(sum == Approx(1));
  CHECK(dtrain_command({"predict", run, one, "--csv", "--json"}).exit_code == 2);
}

}  // namespace
}  // namespace dtrain
