// data check and data show: a job's data before it trains.
#include <ATen/ATen.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "catch.h"
#include "codecs/image_file.h"
#include "command_line.h"
#include "files.h"
#include "images/fit.h"
#include "report/page.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A picture of some patches of colour, which `seed` decides.
at::Tensor patches(int64_t seed, int64_t side) {
  at::manual_seed(static_cast<uint64_t>(seed));
  return fit_images(at::randint(0, 256, {1, 3, 7, 7}, at::kByte), {3, side, side}, Fit::kStretch)[0];
}

// A job on pictures of two classes, with training and test parts of its own.
struct PictureFolder {
  TemporaryFolder folder;
  Surroundings there{folder.path(), {{"XDG_CACHE_HOME", folder / "cache"}}, {}};

  PictureFolder() {
    folder.write("job.yaml", R"(
strategy: {kind: one_device}
data: {dataset: image_folder, path: pictures, image: {size: [16, 16], mean: imagenet, standard_deviation: imagenet}}
batch: {per_replica: 8}
)");
    int64_t seed = 0;
    for (const char* part : {"train", "test"}) {
      for (const char* name : {"daisy", "rose & co"}) {
        for (int i = 0; i < 4; ++i)
          write(std::string(part) + "/" + name + "/" + std::to_string(i), ++seed, 40);
      }
    }
  }
  void write(const std::string& name, int64_t seed, int64_t side) const {
    put(name, png_file(patches(seed, side)));
  }
  void put(const std::string& name, const std::string& bytes) const {
    const fs::path path = folder / ("pictures/" + name + ".png");
    fs::create_directories(path.parent_path());
    write_file(path, bytes);
  }
  Outcome run(const std::vector<std::string>& arguments) const { return dtrain_command(arguments, there); }
};

TEST_CASE("a plan without room for the decoded pictures says so, and leaves the spec as it is") {
  const PictureFolder pictures;
  const Outcome roomy = pictures.run({"plan", "job.yaml"});
  CHECK(roomy.exit_code == 0);
  CHECK_THAT(roomy.output,
             ContainsSubstring("of decoded pictures on the disk") && ContainsSubstring("cache: auto"));
  CHECK_THAT(roomy.errors, !ContainsSubstring("room"));
  const Outcome narrow = pictures.run({"plan", "job.yaml", "--set", "data.cache_gigabytes=1e-6"});
  CHECK(narrow.exit_code == 0);
  CHECK_THAT(narrow.output, ContainsSubstring("none: pictures are decoded whenever a batch needs them") &&
                                ContainsSubstring("cache: auto"));
  CHECK_THAT(narrow.errors, ContainsSubstring("has no room for: they are decoded whenever"));
  const Outcome memory = pictures.run({"plan", "job.yaml", "--set", "data.cache=memory"});
  CHECK_THAT(memory.output, ContainsSubstring("of decoded pictures in memory, of each host"));
}

TEST_CASE("data check finds nothing odd in sound pictures that all differ") {
  const PictureFolder pictures;
  const Outcome checked = pictures.run({"data", "check", "job.yaml"});
  INFO(checked.errors);
  CHECK(checked.exit_code == 0);
  CHECK_THAT(checked.output, ContainsSubstring("16 pictures read in ") &&
                                 ContainsSubstring("widths 40, heights 40 pixels") &&
                                 ContainsSubstring("  rose & co           4           4           8\n") &&
                                 ContainsSubstring("nothing odd was found"));
}

TEST_CASE("data check names broken files, copies, leaks and pictures of two classes") {
  const PictureFolder pictures;
  pictures.put("train/daisy/cut", png_file(patches(50, 40)).substr(0, 200));
  pictures.put("train/daisy/empty", "");
  pictures.write("train/daisy/copy", 9, 40);             // of test/daisy/0
  pictures.write("test/rose & co/another size", 1, 90);  // of train/daisy/0
  pictures.put("train/rose & co/grey", png_file(patches(60, 40).narrow(0, 0, 1)));
  const Outcome checked = pictures.run({"data", "check", "job.yaml", "--json", "--out", "check.html"});
  INFO(checked.errors);
  CHECK(checked.exit_code == 3);
  const json found = json::parse(checked.output);
  CHECK(found.at("sound") == false);
  CHECK(found.at("examples") == 21);
  CHECK(found.at("parts").at("train") == json{{"daisy", 7}, {"rose & co", 5}});
  REQUIRE(found.at("broken").size() == 2);
  CHECK(found.at("broken")[0].at("file") == "train/daisy/cut.png");
  CHECK_THAT(found.at("broken")[0].at("reason").get<std::string>(), ContainsSubstring("no sound PNG"));
  CHECK(found.at("broken")[1].at("reason") == "the file is empty");
  REQUIRE(found.at("same").size() == 2);
  const json& copies = found.at("same")[0];
  CHECK(copies.at("exact") == true);
  CHECK(copies.at("leaked") == true);
  CHECK(copies.at("several_classes") == false);
  CHECK(copies.at("examples")[0].at("file") == "train/daisy/copy.png");
  CHECK(copies.at("examples")[1] == json{{"file", "test/daisy/0.png"}, {"part", "test"}, {"class", "daisy"}});
  const json& alike = found.at("same")[1];
  CHECK(alike.at("exact") == false);
  CHECK(alike.at("leaked") == true);
  CHECK(alike.at("several_classes") == true);
  CHECK(found.at("colours").at("grey").size() == 1);
  CHECK(found.at("widths") == json{{"least", 40}, {"median", 40}, {"most", 90}});

  const std::string page = content_of(pictures.folder / "check.html");
  CHECK_THAT(page, ContainsSubstring("<title>dtrain data check: ") && ContainsSubstring("Leaked") &&
                       ContainsSubstring("rose &amp; co") && !ContainsSubstring("rose & co") &&
                       ContainsSubstring("train/daisy/cut.png: no sound PNG"));
  size_t shown = 0;
  for (size_t at = page.find("data:image/png"); at != std::string::npos;
       at = page.find("data:image/png", at + 1))
    ++shown;
  CHECK(shown == 5);  // two pairs, and the grey one
  const std::string text = pictures.run({"data", "check", "job.yaml", "--out", "check.html"}).output;
  CHECK_THAT(text, ContainsSubstring("\nbroken (2): cannot be used; training ends with an error, or leaves "
                                     "them out (data.on_bad_example: "
                                     "skip)\n  train/daisy/cut.png") &&
                       ContainsSubstring("\nleaked (2): ") && ContainsSubstring("\nseveral classes (1): ") &&
                       ContainsSubstring("train/daisy/copy.png (train), test/daisy/0.png (test)\n"));
  pictures.folder.write("mine.html", "mine");
  CHECK(pictures.run({"data", "check", "job.yaml", "--out", "mine.html"}).exit_code == 2);
}

// A PNG of 3 x 2 grey pixels of 16 bits, up to 4,095, with orientation 6 in an eXIf chunk after them.
std::string dark_png() {
  const std::string digits =
      "89504e470d0a1a0a0000000d4948445200000003000000021000000000e88fe5850000001149444154789c63e0ffcfc0c0a8c3"
      "00a1"
      "0013b1027777bfb1fb0000001a655849664d4d002a00000008000101120003000000010006000000000000d6674b6900000000"
      "4945"
      "4e44ae426082";
  std::string bytes;
  for (size_t at = 0; at < digits.size(); at += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16));
  return bytes;
}

TEST_CASE("pictures that are nearly black and files that are left out are named before anything is trained") {
  const PictureFolder pictures;
  pictures.put("train/daisy/dark", dark_png());
  write_file(pictures.folder / "pictures/train/daisy/scan.psd", "");
  const std::string left_out =
      "1 file is left out: 1 .psd; dtrain reads .jpg, .jpeg, .png, .webp, .tif, .tiff, .gif, .bmp, .ppm, "
      ".pgm";
  const Outcome checked = pictures.run({"data", "check", "job.yaml", "--json"});
  CHECK(checked.exit_code == 0);
  const json found = json::parse(checked.output);
  const json dark = json::array({{{"file", "train/daisy/dark.png"}, {"part", "train"}, {"class", "daisy"}}});
  CHECK(found.at("nearly_black") == dark);
  CHECK(found.at("turned") == dark);
  CHECK(found.at("left_out") == json{{".psd", 1}});
  CHECK_THAT(
      pictures.run({"data", "check", "job.yaml"}).output,
      ContainsSubstring("\nnearly black (1): pictures of 16 bits with no value over 4,095, as cameras of 12 "
                        "bits make them; multiply their values by 16\n  train/daisy/dark.png\n") &&
          ContainsSubstring("\nleft out (1): files that are not read; ") &&
          ContainsSubstring("\n  1 .psd\n"));
  CHECK_THAT(pictures.run({"plan", "job.yaml"}).errors, ContainsSubstring("WARNING: " + left_out));
  CHECK_THAT(pictures.run({"init", "--from", "pictures"}).errors, ContainsSubstring(left_out));

  fs::remove_all(pictures.folder / "pictures/train");
  for (const char* name : {"train/daisy/1", "train/daisy/2", "train/rose & co/1"})
    pictures.put(name, dark_png());
  CHECK_THAT(pictures.run({"init", "--from", "pictures"}).errors,
             ContainsSubstring("3 looked at are nearly black: dtrain data check says why"));
  const std::vector<std::string> show = {"data",
                                         "show",
                                         "job.yaml",
                                         "--set",
                                         "data.image.mean=measured",
                                         "--set",
                                         "data.image.standard_deviation=measured"};
  CHECK_THAT(pictures.run(show).errors, ContainsSubstring("WARNING: the training pictures are nearly black"));
}

TEST_CASE("data check names a picture that is too long to be cropped") {
  const PictureFolder pictures;
  pictures.put("train/daisy/long", png_file(at::zeros({1, 1, 16'384}, at::kByte)));
  std::vector<std::string> check = {"data",     "check",
                                    "job.yaml", "--json",
                                    "--set",    "data.image.size=[65, 65]",
                                    "--set",    "data.image.fit=crop"};
  const Outcome cropped = pictures.run(check);
  INFO(cropped.errors);
  CHECK(cropped.exit_code == 3);
  const json broken = json::parse(cropped.output).at("broken");
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].at("file") == "train/daisy/long.png");
  CHECK(
      broken[0].at("reason") ==
      "16384 x 1 pixels, which data.image.fit: crop scales to 1064960 x 65, more than 67,108,864 pixels; cut "
      "it, or use pad or stretch");
  check.back() = "data.image.fit=pad";
  CHECK(json::parse(pictures.run(check).output).at("broken").empty());
}

TEST_CASE("data check names what there is no reading of, such as links to nowhere") {
  const PictureFolder pictures;
  const fs::path rose = pictures.folder / "pictures/train/rose & co";
  fs::create_symlink("nowhere", rose / "nowhere.jpg");
  fs::create_symlink("loop.png", rose / "loop.png");
  fs::create_symlink("0.png", rose / "link.png");  // to a picture
  const Outcome checked = pictures.run({"data", "check", "job.yaml", "--json"});
  INFO(checked.errors);
  CHECK(checked.exit_code == 3);
  const json found = json::parse(checked.output);
  CHECK(found.at("examples") == 19);
  REQUIRE(found.at("broken").size() == 2);
  CHECK(found.at("broken")[0].at("file") == "train/rose & co/loop.png");
  CHECK_THAT(found.at("broken")[0].at("reason").get<std::string>(), ContainsSubstring("symbolic links"));
  CHECK(found.at("broken")[1].at("file") == "train/rose & co/nowhere.jpg");
  CHECK_THAT(found.at("broken")[1].at("reason").get<std::string>(), ContainsSubstring("No such file"));
  // Whether training would leave them out changes nothing.
  const Outcome again =
      pictures.run({"data", "check", "job.yaml", "--json", "--set", "data.on_bad_example=skip"});
  CHECK(json::parse(again.output).at("broken") == found.at("broken"));
}

TEST_CASE("data check of a table: missing values, columns that say nothing or too much, rows in two parts") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  std::string train = "size,colour,constant,code,kind\n", test = train;
  for (int row = 0; row < 30; ++row) {
    const bool tall = row % 3 == 0;
    train += (row == 4 ? "" : std::to_string(row)) + (tall ? ",red" : ",blue") + ",7," + (tall ? "T" : "S") +
             (tall ? ",tall\n" : ",short\n");
  }
  test += "3,red,7,T,tall\n100,blue,7,S,short\n6,red,7,T,short\n";
  folder.write("train.csv", train);
  folder.write("test.csv", test);
  folder.write("job.yaml", "data: {dataset: csv, path: ., target: kind}\nbatch: {global: 8}\n");
  const Outcome refused = dtrain_command({"data", "check", "job.yaml"}, there);
  CHECK(refused.exit_code == 3);
  CHECK_THAT(refused.output,
             ContainsSubstring("refused (1): training ends with an error\n  values of 'size' are missing; "
                               "data.missing: mean"));
  const Outcome checked =
      dtrain_command({"data", "check", "job.yaml", "--json", "--set", "data.missing=mean"}, there);
  INFO(checked.errors);
  CHECK(checked.exit_code == 0);
  const json found = json::parse(checked.output);
  std::map<std::string, std::string> columns;
  for (const json& one : found.at("columns"))
    columns[one.at("column")] += one.at("finding").get<std::string>();
  CHECK(columns.size() == 4);
  CHECK(columns["size"] == "1 of 30 values are missing");
  CHECK_THAT(columns["constant"], ContainsSubstring("the same value in every row"));
  CHECK_THAT(columns["code"], ContainsSubstring("says the target 'kind' in every row"));
  CHECK_THAT(columns["colour"], ContainsSubstring("says the target"));
  REQUIRE(found.at("same").size() == 2);
  CHECK(found.at("same")[0].at("leaked") == true);
  CHECK(found.at("same")[0].at("examples")[0].at("example") == "row 4");
  CHECK(found.at("same")[0].at("examples")[1].at("example") == "row 1 of the test's file");
  CHECK(found.at("same")[1].at("several_classes") == true);
  CHECK(found.at("parts").at("test") == json{{"short", 2}, {"tall", 1}});
}

TEST_CASE("data check refuses what a run refuses, and warns of what it warns of") {
  const TemporaryFolder folder;
  const Surroundings there{folder.path(), {}, {}};
  std::string train = "Nr,size,kind\n";
  for (int row = 1; row <= 30; ++row)
    train +=
        std::to_string(row) + "," + std::to_string(row % 5) + (row % 2 == 0 ? ".5,tall\n" : ".25,short\n");
  folder.write("train.csv", train);
  folder.write("test.csv", "Nr,size,kind\n1,2,tall\n2,4,broad\n");
  folder.write("job.yaml", "data: {dataset: csv, path: ., target: kind}\nbatch: {global: 8}\n");
  const auto check = [&](const std::vector<std::string>& more, int exit_code) {
    std::vector<std::string> arguments = {"data", "check", "job.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome checked = dtrain_command(arguments, there);
    INFO(checked.output << checked.errors);
    CHECK(checked.exit_code == exit_code);
    arguments[0] = "plan";
    arguments.erase(arguments.begin() + 1);
    CHECK(dtrain_command(arguments, there).exit_code == exit_code);
    return checked.output + checked.errors;
  };
  CHECK_THAT(check({}, 3),
             ContainsSubstring("refused (1): training ends with an error\n") &&
                 ContainsSubstring("column 'kind', row 2: 'broad' is not a class of the training"));
  folder.write("test.csv", "Nr,size,kind\n1,2,tall\n2,4,short\n");
  CHECK_THAT(check({}, 0),
             ContainsSubstring("doubtful (1): training warns of it\n  column 'Nr' only numbers"));
  CHECK_THAT(check({"--set", "train.loss=mean_squared_error"}, 3),
             ContainsSubstring("column 'kind' has words"));
  CHECK_THAT(check({"--set", "data.classes=5"}, 2),
             ContainsSubstring("data.classes: 5, but column 'kind' has 2"));
  CHECK_THAT(check({"--set", "model.kind=layers", "--set", "model.layers=[{kind: dense, units: 7}]"}, 2),
             ContainsSubstring("2 classes need [2]"));
  CHECK_THAT(check({"--set", "train.loss.class_weights={tell: 5}"}, 2),
             ContainsSubstring("did you mean 'tall'?"));
  folder.write("train.csv", train + "31,O.5,tall\n");
  CHECK_THAT(check({}, 3),
             ContainsSubstring("column 'size', row 31: 'O.5' is no number, and 30 of 31 cells are"));
  check({"--set", "data.columns={size: words}"}, 0);
  check({"--set", "data.missing_values=[O.5]", "--set", "data.missing=mean"}, 0);

  // Arrays, whose targets are no classes.
  write_safetensors(folder / "a.safetensors", {{"x_train", at::rand({20, 3})}, {"y_train", at::rand({20})}},
                    {});
  folder.write("job.yaml",
               "data: {dataset: arrays, path: a.safetensors, split: {test: 0.2}}\nbatch: {global: 8}\n");
  CHECK_THAT(check({}, 2), ContainsSubstring("cross_entropy"));
}

TEST_CASE("data pack writes archives that the other commands read") {
  const PictureFolder pictures;
  const Outcome packed =
      pictures.run({"data", "pack", "job.yaml", "--out", "shards/", "--shard-size", "20KB", "--json"});
  INFO(packed.errors);
  CHECK(packed.exit_code == 0);
  const json told = json::parse(packed.output);
  CHECK(told.at("classes") == json{"daisy", "rose & co"});
  CHECK(told.at("parts").at("train").at("pictures") == 8);
  CHECK(told.at("parts").at("test").at("pictures") == 8);
  CHECK(told.at("parts").at("train").at("shards") > 1);
  const std::vector<std::string> read = {"--set", "data.dataset=tar", "--set", "data.path=shards"};
  std::vector<std::string> check = {"data", "check", "job.yaml", "--json"};
  check.insert(check.end(), read.begin(), read.end());
  const json checked = json::parse(pictures.run(check).output);
  CHECK(checked.at("examples") == 16);
  CHECK_THAT(pictures.run({"init", "--from", "shards"}).errors,
             ContainsSubstring("daisy (8), rose & co (8)"));
  CHECK(pictures.run({"data", "pack", "job.yaml", "--out", "shards"}).exit_code == 2);
  const Outcome again = pictures.run(
      {"data", "pack", "job.yaml", "--out", "shards", "--overwrite", "--shard-size", "20000000000"});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output, ContainsSubstring("shards: 2 classes\n  train      8 pictures in 1 archive, ") &&
                               ContainsSubstring("data.dataset: tar, data.path: shards, without data.split"));
  CHECK_THAT(pictures.run({"data", "pack", "job.yaml", "--out", "s", "--shard-size", "big"}).errors,
             ContainsSubstring("--shard-size: 'big' is no size from 1B to 1000GB"));
  CHECK_THAT(pictures.run({"data", "pack", "job.yaml", "--out", "s", "--shard-size", "1000000000001"}).errors,
             ContainsSubstring("--shard-size: '1000000000001' is no size from 1B to 1000GB"));
  // The index alone, of archives that are there.
  const std::string index = content_of(pictures.folder / "shards/shards.index");
  fs::remove(pictures.folder / "shards/shards.index");
  std::vector<std::string> only = {"data", "pack", "job.yaml", "--index"};
  CHECK_THAT(pictures.run(only).errors, ContainsSubstring("--index is for data.dataset: tar"));
  only.insert(only.end(), read.begin(), read.end());
  CHECK_THAT(pictures.run(only).output, ContainsSubstring("shards/shards.index: for data.stream"));
  CHECK(content_of(pictures.folder / "shards/shards.index") == index);
  CHECK_THAT(pictures.run({"data", "pack", "job.yaml"}).errors, ContainsSubstring("--out is missing"));
  pictures.folder.write("numbers.yaml", "data: {dataset: synthetic}\nbatch: {per_replica: 4}\n");
  CHECK_THAT(pictures.run({"data", "pack", "numbers.yaml", "--out", "s"}).errors,
             ContainsSubstring("synthetic has no pictures in files"));
}

TEST_CASE("data check of generated examples counts them") {
  const TemporaryFolder folder;
  folder.write("job.yaml",
               "data: {dataset: synthetic, shape: [1, 4, 4], classes: 3, train_examples: 50, "
               "test_examples: 9}\nbatch: {global: 8}\n");
  const Outcome checked = dtrain_command({"data", "check", "job.yaml", "--json"}, {folder.path(), {}, {}});
  CHECK(checked.exit_code == 0);
  const json found = json::parse(checked.output);
  int64_t test = 0;
  for (const auto& [name, count] : found.at("parts").at("test").items()) test += count.get<int64_t>();
  CHECK(test == 9);
  CHECK(found.at("same").empty());
}

TEST_CASE("data show writes what the model gets as pictures") {
  const PictureFolder pictures;
  fs::remove_all(pictures.folder / "pictures");
  // All of a class have its colour, which normalisation and back must not change.
  const std::map<std::string, int64_t> colours = {{"daisy", 40}, {"rose & co", 200}};
  for (const auto& [name, colour] : colours) {
    for (int i = 0; i < 6; ++i) {
      const std::string file = "/" + name + "/" + std::to_string(i);
      pictures.put("train" + file, png_file(at::full({3, 20, 30}, colour, at::kByte)));
      pictures.put("test" + file, png_file(at::full({3, 20, 30}, colour, at::kByte)));
    }
  }
  const Outcome shown = pictures.run({"data", "show", "job.yaml", "--batches", "9", "--out", "b.html",
                                      "--set", "data.augment=[{kind: flip}]"});
  INFO(shown.errors);
  REQUIRE(shown.exit_code == 0);
  CHECK(shown.output == "b.html: 12 pictures of epoch 0\n");
  const std::string page = content_of(pictures.folder / "b.html");
  int64_t found = 0;
  for (int64_t index = 0; index < 12; ++index) {
    const std::string example = "example " + std::to_string(index);
    for (const auto& [name, colour] : colours) {
      const std::string title = (colour == 40 ? "0 " : "1 ") + name;
      std::string wanted =
          page_picture(png_file(at::full({3, 16, 16}, colour, at::kByte)), example, title, {example});
      wanted.resize(wanted.size() - std::string("</li>\n").size());  // the file's name follows
      if (page.find(wanted) != std::string::npos) ++found;
    }
  }
  CHECK(found == 12);
  CHECK_THAT(page, ContainsSubstring("step 1, replica 0"));
  CHECK(pictures.run({"data", "show", "job.yaml"}).output == "batches.html: 8 pictures of epoch 0\n");
  const Outcome mixed =
      pictures.run({"data", "show", "job.yaml", "--out", "m.html", "--set", "data.augment=[mixup]"});
  INFO(mixed.errors);
  CHECK(mixed.exit_code == 0);
  // The two classes of a picture, and their shares, which add up to 1.
  const std::string mixture = content_of(pictures.folder / "m.html");
  static const std::regex kShares(
      "<b>[01] [a-z &;]+ (0\\.[5-9][0-9]|1\\.00), [01] [a-z &;]+ 0\\.[0-5][0-9]</b>");
  CHECK(std::distance(std::sregex_iterator(mixture.begin(), mixture.end(), kShares),
                      std::sregex_iterator()) == 8);
  // The rare class's one picture as often as the other's six.
  for (const char* name : {"1", "2", "3", "4", "5"})
    fs::remove(pictures.folder / ("pictures/train/rose & co/" + std::string(name) + ".png"));
  const Outcome balanced =
      pictures.run({"data", "show", "job.yaml", "--out", "c.html", "--batches", "9", "--set",
                    "data.sampling=balanced", "--set", "data.image.mean=measured"});
  CHECK_THAT(balanced.errors, ContainsSubstring("the training pictures have a mean of ["));
  CHECK(balanced.output == "c.html: 7 pictures of epoch 0\n");
  const std::string twice = content_of(pictures.folder / "c.html");
  static const std::regex kRare("<b>1 rose");
  CHECK(std::distance(std::sregex_iterator(twice.begin(), twice.end(), kRare), std::sregex_iterator()) == 3);
  pictures.folder.write("table.csv", "a,b\n1,2\n3,4\n5,6\n");
  pictures.folder.write("table.yaml",
                        "data: {dataset: csv, path: table.csv, target: b, split: {test: 0.4}}\n"
                        "batch: {global: 1}\ntrain: {loss: mean_squared_error}\n");
  CHECK_THAT(pictures.run({"data", "show", "table.yaml"}).errors,
             ContainsSubstring("are numbers, not pictures"));
  CHECK_THAT(pictures.run({"data", "sow", "job.yaml"}).errors, ContainsSubstring("dtrain data --help"));
}

}  // namespace
}  // namespace dtrain
