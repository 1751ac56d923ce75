// init --from: a spec for what a folder or a file holds, which can be planned as it is.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <regex>

#include "catch.h"
#include "codecs/image_file.h"
#include "command_line.h"
#include "files.h"
#include "http_server.h"
#include "pictures/shards.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A folder to work in, and commands in it.
struct Newcomer {
  TemporaryFolder folder;
  Surroundings there{folder.path(), {{"XDG_CACHE_HOME", folder / "cache"}}, {}};

  Outcome run(const std::vector<std::string>& arguments) const { return dtrain_command(arguments, there); }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((folder / name).parent_path());
    folder.write(name, content);
  }
  void write_pictures(const std::string& classes, int count, int64_t height, int64_t width,
                      int64_t channels = 3) const {
    at::manual_seed(static_cast<uint64_t>(count));
    for (int i = 0; i < count; ++i)
      write(classes + "/picture" + std::to_string(i) + ".png",
            png_file(at::randint(0, 256, {channels, height + i % 3, width}, at::kByte)));
  }
  // The spec for this data, which plan takes without a word; and once more without line breaks in comments.
  std::string spec_from(const std::string& path, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"init", "--from", path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome written = run(arguments);
    INFO(written.errors);
    REQUIRE(written.exit_code == 0);
    folder.write("job.yaml", written.output);
    const Outcome plan = run({"plan", "job.yaml"});
    INFO(written.output);
    CHECK(plan.errors.empty());
    CHECK(plan.exit_code == 0);
    static const std::regex kBrokenLine("\n *# ");  // of a comment
    return written.output + std::regex_replace(written.output, kBrokenLine, " ");
  }
  std::string refused(const std::string& path) const {
    const Outcome outcome = run({"init", "--from", path});
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.output.empty());
    return outcome.errors;
  }
};

TEST_CASE("init --from a folder of pictures, with whatever else lies there") {
  const Newcomer newcomer;
  newcomer.write_pictures("photos/flowers/rose", 12, 40, 60);
  newcomer.write_pictures("photos/flowers/tulip", 20, 90, 70);
  for (const char* stray : {"photos/flowers/README.txt", "photos/.DS_Store", "photos/__MACOSX/x.jpg",
                            "photos/flowers/rose/Thumbs.db", "photos/flowers/__MACOSX/rose/._1.jpg"})
    newcomer.write(stray, "no picture");
  const Outcome told = newcomer.run({"init", "--from", "photos/"});
  CHECK(told.errors == "dtrain: photos/flowers: 32 pictures of 2 classes: rose (12), tulip (20)\n");
  newcomer.write("photos/flowers/rose/scan.psd", "");
  CHECK(
      newcomer.run({"init", "--from", "photos/"}).errors ==
      "dtrain: photos/flowers: 32 pictures of 2 classes: rose (12), tulip (20); 1 file is left out: 1 .psd; "
      "dtrain reads .jpg, .jpeg, .png, .webp, .tif, .tiff, .gif, .bmp, .ppm, .pgm\n");
  fs::remove(newcomer.folder / "photos/flowers/rose/scan.psd");
  const std::string text = newcomer.spec_from("photos/");
  CHECK_THAT(text,
             ContainsSubstring("# For photos/flowers: 32 pictures of 2 classes: rose (12), tulip (20)\n") &&
                 ContainsSubstring("\nname: photos\n") && ContainsSubstring("\n  path: photos/flowers\n") &&
                 ContainsSubstring("\n    size: [64, 64]\n") && ContainsSubstring("\n    fit: crop\n") &&
                 ContainsSubstring("\n    test: 0.2\n") && ContainsSubstring("\n  kind: cnn\n") &&
                 ContainsSubstring("\n  augment:\n    - {kind: flip") &&
                 ContainsSubstring("\n    kind: cross_entropy\n"));
  CHECK_THAT(text, !ContainsSubstring("fallback") && !ContainsSubstring("channels: 1"));
  // What a user says replaces what was chosen.
  const std::string mine =
      newcomer.spec_from("photos", {"--model", "mlp", "--epochs", "3", "--set", "name=mine"});
  CHECK_THAT(mine, ContainsSubstring("\n  kind: mlp\n") && ContainsSubstring("\n  epochs: 3\n") &&
                       ContainsSubstring("\nname: mine\n") && !ContainsSubstring("filters"));
  // In a file of another folder, the path is relative to that.
  fs::create_directories(newcomer.folder / "jobs");
  REQUIRE(newcomer.run({"init", "jobs/first.yaml", "--from", "photos"}).exit_code == 0);
  CHECK_THAT(content_of(newcomer.folder / "jobs" / "first.yaml"),
             ContainsSubstring("\n  path: \"../photos/flowers\"\n") && ContainsSubstring("\nname: first\n"));
  CHECK(newcomer.run({"plan", "jobs/first.yaml"}).exit_code == 0);
  CHECK_THAT(newcomer.run({"init", "jobs/first.yaml", "--from", "photos"}).errors,
             ContainsSubstring("is there already"));
}

TEST_CASE("init --from chooses the size, channels and parts by the pictures") {
  const Newcomer newcomer;
  for (const char* part : {"train", "test"}) {
    newcomer.write_pictures(std::string("digits/") + part + "/0", 6, 20, 24, 1);
    newcomer.write_pictures(std::string("digits/") + part + "/1", 6, 20, 24, 1);
  }
  const std::string digits = newcomer.spec_from("digits");
  CHECK_THAT(digits, ContainsSubstring("channels: 1\n") && ContainsSubstring("size: [21, 21]\n") &&
                         !ContainsSubstring("split") && !ContainsSubstring("augment"));
  const std::string large = "P6 400 300 255\n" + std::string(400 * 300 * 3, 'x');
  newcomer.write("large/a/1.ppm", large);
  newcomer.write("large/b/1.ppm", large);
  CHECK_THAT(newcomer.spec_from("large"),  // each part has a picture, however few there are
             ContainsSubstring("size: [128, 128]\n") &&
                 ContainsSubstring("are all of 300 x 400 pixels. 128 is enough"));
  newcomer.write("large/a/broken.png", "no PNG");
  CHECK_THAT(newcomer.run({"init", "--from", "large"}).errors,
             ContainsSubstring("1 looked at cannot be read"));
  newcomer.write("broken/a/1.png", "no PNG");
  newcomer.write("broken/b/1.png", "no PNG");
  CHECK_THAT(newcomer.refused("broken"), ContainsSubstring("none of the 2 pictures looked at can be read"));
}

TEST_CASE("init --from a table guesses its target and says how to take another") {
  const Newcomer newcomer;
  std::string houses = "id,town,Price,age,garden\n", kinds = "length;width;kind\n";
  for (int row = 0; row < 200; ++row) {
    houses += std::to_string(row) + "," + (row % 3 == 0 ? "Ulm" : "Jena") + "," + std::to_string(100 + row) +
              ".5," + (row == 7 ? "" : std::to_string(row % 50)) + "," + std::to_string(row % 2) + "\n";
    kinds +=
        std::to_string(row % 11) + ";" + std::to_string(row % 7) + ";" + (row % 4 == 0 ? "yes" : "no") + "\n";
  }
  newcomer.write("houses.csv", houses);
  newcomer.write("in a folder/kinds.csv", kinds);
  const std::string price = newcomer.spec_from("houses.csv");
  CHECK_THAT(price, ContainsSubstring("\n  target: [Price]\n") && ContainsSubstring("\n  id: id\n") &&
                        ContainsSubstring("\n  missing: mean\n") &&
                        ContainsSubstring("kind: mean_squared_error\n") &&
                        ContainsSubstring("--target NAME, one of: id, town, Price, age, garden") &&
                        ContainsSubstring("Price to predict, 100.5 to 299.5"));
  const std::string kind = newcomer.spec_from("in a folder");
  CHECK_THAT(kind, ContainsSubstring("\n  target: [kind]\n") && ContainsSubstring("kind: cross_entropy\n") &&
                       ContainsSubstring("kind of 2 classes: no (150), yes (50)") &&
                       !ContainsSubstring("missing"));
  CHECK_THAT(price, ContainsSubstring("learning_rate: 0.003"));
  CHECK_THAT(newcomer.spec_from("houses.csv", {"--target", "id"}), ContainsSubstring("learning_rate: 0.003"));
  // Rows to predict, without their answers, are no test part.
  newcomer.write("contest/train.csv", houses);
  newcomer.write("contest/test.csv", "id,town,age,garden\n1,Ulm,3,1\n");
  CHECK_THAT(newcomer.spec_from("contest"),
             ContainsSubstring("/train.csv\n") && ContainsSubstring("test: 0.2"));
  newcomer.write("contest/test.csv", "id,town,Price,age,garden\n1,Ulm,3,3,1\n");
  CHECK_THAT(newcomer.spec_from("contest"),
             ContainsSubstring("path: contest\n") && !ContainsSubstring("split"));
  newcomer.write("capitals/Train.csv", houses);
  newcomer.write("capitals/TEST.csv", houses);
  CHECK_THAT(newcomer.spec_from("capitals"), ContainsSubstring("path: capitals\n"));
  newcomer.write("kept/train.csv", houses);
  newcomer.write("kept/validation.csv", houses);
  CHECK_THAT(newcomer.run({"init", "--from", "kept"}).errors,
             ContainsSubstring("kept/validation.csv is not read: data.split.validation"));
  newcomer.write("tiny.csv", "area,price\n20,10\n30,11\n");
  CHECK_THAT(newcomer.spec_from("tiny.csv"), ContainsSubstring("kind: mean_squared_error\n"));
  newcomer.write("ragged.csv", "a,b\n1,2\n3\n");
  CHECK_THAT(newcomer.refused("ragged.csv"), ContainsSubstring("row 2 has 1 cell, the header 2"));
}

TEST_CASE("init --from a table raises the rate for large targets, and warns of a table without names") {
  const Newcomer newcomer;
  std::string prices = "rooms,price,tax\n", bare, counted = "0,1,label\n";
  for (int row = 0; row < 80; ++row) {
    const std::string rooms = std::to_string(row % 9) + ".5";
    prices += rooms + "," + std::to_string(90000 + row * 100) + ".5,-2500000." + std::to_string(row) + "\n";
    bare += rooms + "," + std::to_string(row % 4) + ".25," + (row % 2 == 0 ? "yes" : "no") + "\n";
    counted += rooms + ",1,0." + std::to_string(row) + "\n";
  }
  newcomer.write("prices.csv", prices);
  newcomer.write("bare.csv", bare);
  newcomer.write("counted.csv", counted);
  CHECK_THAT(newcomer.spec_from("prices.csv", {"--target", "price"}),
             ContainsSubstring("learning_rate: 0.03\n") && ContainsSubstring("a target as large as 97900.5"));
  CHECK_THAT(newcomer.spec_from("prices.csv", {"--target", "price", "--target", "tax"}),
             ContainsSubstring("learning_rate: 0.1\n") && ContainsSubstring("targets as large as 2.5e+06"));
  CHECK_THAT(newcomer.run({"init", "--from", "bare.csv"}).errors,
             ContainsSubstring("the first row holds numbers (0.5, 0.25, yes)"));
  CHECK(newcomer.run({"init", "--from", "counted.csv"}).errors.find("first row") == std::string::npos);
}

TEST_CASE("init --from a table settles how its columns are read, and says so") {
  const Newcomer newcomer;
  std::string text = "Lfd;sold;a;b;y\n";
  for (int row = 1; row <= 60; ++row)
    text += std::to_string(row) + ";2024-03-" + (row % 28 < 9 ? "0" : "") + std::to_string(row % 28 + 1) +
            ";" +
            (row == 24   ? "O.5"
             : row == 25 ? "?"
                         : std::to_string(row % 7) + ".5") +
            ";" + std::to_string(row % 5) + ",25;" + std::to_string(row % 13) + ".125\n";
  newcomer.write("some.csv", text);
  const std::string spec = newcomer.spec_from("some.csv");
  CHECK_THAT(spec, ContainsSubstring("\n  id: Lfd\n") && ContainsSubstring("\n  columns: {sold: date}\n") &&
                       ContainsSubstring("\n  missing_values: [O.5, \"?\"]\n") &&
                       ContainsSubstring("\n  missing: mean\n") &&
                       ContainsSubstring("such as column 'a', row 24: 'O.5'"));
  CHECK_THAT(newcomer.run({"init", "--from", "some.csv"}).errors,
             ContainsSubstring("WARNING: column 'a', row 24: 'O.5' is no number") &&
                 ContainsSubstring("WARNING: column 'a', row 25: '?' is no number"));
  CHECK_THAT(
      newcomer.run({"plan", "job.yaml"}).output,
      ContainsSubstring("separated by semicolons; numbers with a decimal point: a, y; numbers with a decimal "
                        "comma: b; dates: sold"));
  // Nothing can take the place of a target.
  const Outcome target = newcomer.run({"init", "--from", "some.csv", "--target", "a"});
  CHECK(target.exit_code == 3);
  CHECK_THAT(target.errors,
             ContainsSubstring("column 'a', row 24: 'O.5' is no number, and 58 of 60 cells are"));
  // What numbers the rows is all there is to learn from.
  newcomer.write("line.csv", "x,y\n1,2.5\n2,4.5\n3,6.5\n4,8.5\n5,9.5\n");
  const Outcome line = newcomer.run({"init", "--from", "line.csv"});
  CHECK(line.exit_code == 0);
  CHECK_THAT(line.output, !ContainsSubstring("ignore:") && !ContainsSubstring("\n  id:"));
}

TEST_CASE("init --from an address looks at copies of its files, and the spec names the address") {
  const Newcomer newcomer;
  std::string houses = "nr,area,price\n";
  for (int row = 1; row <= 60; ++row)
    houses += fmt::format("{},{},{}.5\n", row, row * 7 % 31, 10 + row * 3 % 17);
  const std::map<std::string, std::string> files = {{"/t/houses.csv", houses},
                                                    {"/t/train.csv", houses},
                                                    {"/t/test.csv", "nr,area,price\n1,2,3\n"},
                                                    {"/odd.csv", "a,b\n1,2\n3\n"}};
  const HttpServerProcess server([&](const AskedFor& request) {
    const auto file = files.find(request.path.substr(0, request.path.find('?')));
    return file == files.end() ? Answer{.status = 404} : part_of(file->second, request, "\"1\"");
  });
  const std::string one = newcomer.spec_from(server.address() + "/t/houses.csv?version=2");
  CHECK_THAT(one, ContainsSubstring("name: houses\n") &&
                      ContainsSubstring("\n  path: \"" + server.address() + "/t/houses.csv?version=2\"\n") &&
                      ContainsSubstring("For " + server.address() + "/t/houses.csv: a table of 60 rows") &&
                      ContainsSubstring("\n  id: nr\n"));
  CHECK_THAT(newcomer.spec_from(server.address() + "/t/{train,test}.csv"),
             ContainsSubstring("\n  path: \"" + server.address() + "/t/{train,test}.csv\"\n"));
  CHECK_THAT(newcomer.refused(server.address() + "/odd.csv"),
             ContainsSubstring(server.address() + "/odd.csv: row 2 has 1 cell"));
  CHECK_THAT(newcomer.run({"init", "--from", server.address() + "/none.csv"}).errors,
             ContainsSubstring("/none.csv: the server answers 404"));
  CHECK_THAT(newcomer.run({"init", "--from", "s3://"}).errors, ContainsSubstring("--from: "));
}

// The IDX file of bytes in memory.
std::string idx_file(const at::Tensor& bytes) {
  std::string file = {0, 0, 8, static_cast<char>(bytes.dim())};
  for (const int64_t size : bytes.sizes())
    file += {0, 0, static_cast<char>(size >> 8), static_cast<char>(size)};
  return file.append(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
}

TEST_CASE("init --from an address of anything but a table finds what is there, and plans it") {
  const Newcomer newcomer;
  at::manual_seed(4);
  std::map<std::string, std::string> files;
  std::string members;
  for (int i = 0; i < 20; ++i) {
    members +=
        tar_member(std::to_string(100 + i) + ".png", png_file(at::randint(0, 256, {3, 24, 24}, at::kByte)));
    members += tar_member(std::to_string(100 + i) + ".cls", i % 3 == 0 ? "rose" : "tulip");
  }
  for (const char* const name : {"/s/a.tar", "/s/b.tar", "/deep/only/c.tar"})
    files[name] = members + std::string(1024, '\0');
  write_safetensors(newcomer.folder / "a.safetensors",
                    {{"x_train", at::randn({60, 5})}, {"y_train", at::arange(60).remainder(3)}}, {});
  files["/deep/arrays/a.safetensors"] = content_of(newcomer.folder / "a.safetensors");
  std::string table = "area,price\n";
  for (int row = 1; row <= 60; ++row) table += fmt::format("{}.5,{}.5\n", row * 7 % 31, row * 3 % 17);
  files["/deep/tables/of/houses.csv"] = table;
  for (const auto& [name, count] : {std::pair{"train", 40}, std::pair{"t10k", 10}}) {
    files[fmt::format("/i/{}-images-idx3-ubyte", name)] =
        idx_file(at::randint(0, 256, {count, 28, 28}, at::kByte));
    files[fmt::format("/i/{}-labels-idx1-ubyte", name)] =
        idx_file(at::arange(count).remainder(10).to(at::kByte));
  }
  files["/p/rose/1.png"] = "a picture";
  const HttpServerProcess server([&](const AskedFor& request) {
    if (request.path.find("list-type=2") != std::string::npos) {  // of the bucket "deep"
      const std::string prefix = request.path.substr(request.path.find("prefix=") + 7);
      std::string xml = "<ListBucketResult>";
      for (const auto& [path, content] : files) {
        if (path.starts_with("/deep/" + prefix.substr(0, prefix.find('%'))))
          xml += fmt::format("<Contents><Key>{}</Key><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                             path.substr(6), content.size());
      }
      return Answer{.body = xml + "<IsTruncated>false</IsTruncated></ListBucketResult>"};
    }
    const auto file = files.find(request.path);
    return file == files.end() ? Answer{.status = 404} : part_of(file->second, request, "\"1\"");
  });
  const Variable endpoint("AWS_ENDPOINT_URL", server.address()), key("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
      secret("AWS_SECRET_ACCESS_KEY", "secret"), region("AWS_REGION", "eu-west-1");
  const auto finds = [&](const std::string& from, const std::string& dataset, const std::string& path) {
    INFO(from);
    CHECK_THAT(newcomer.spec_from(from), ContainsSubstring("\n  dataset: " + dataset + "\n") &&
                                             ContainsSubstring("\n  path: \"" + path + "\"\n"));
  };
  const std::string web = server.address();
  for (const char* const one : {"/s/a.tar", "/s/{a,b}.tar", "/{s/a,deep/only/c}.tar"})
    finds(web + one, "tar", web + one);
  finds(web + "/deep/arrays/a.safetensors", "arrays", web + "/deep/arrays/a.safetensors");
  const std::string images =
      web + "/i/{train-images-idx3,train-labels-idx1,t10k-images-idx3,t10k-labels-idx1}-ubyte";
  finds(images, "idx", images);
  finds("s3://deep/only/", "tar", "s3://deep/only/");
  // One file of a folder, in whatever folder below it.
  finds("s3://deep/arrays/", "arrays", "s3://deep/arrays/a.safetensors");
  finds("s3://deep/tables/", "csv", "s3://deep/tables/of/houses.csv");
  // Folders of pictures have no addresses.
  CHECK_THAT(newcomer.run({"init", "--from", web + "/p/"}).errors,
             ContainsSubstring("/p/: names a folder, which cannot be listed; name the files"));
  CHECK_THAT(newcomer.run({"init", "--from", web + "/p/rose/1.png"}).errors,
             ContainsSubstring("/p/rose/1.png: one picture; name the folder"));
}

TEST_CASE("init --from a table predicts the columns that --target names") {
  const Newcomer newcomer;
  std::string text = "radius,width,ill,old,diagnosis\n";
  for (int row = 0; row < 100; ++row)
    text += std::to_string(10 + row % 17) + ".85," + std::to_string(row % 29) + ".5," +
            std::to_string(row % 2) + "," + std::to_string(row % 3 / 2) + "," + (row % 4 == 0 ? "M" : "B") +
            "\n";
  newcomer.write("cancer.csv", text);
  CHECK_THAT(newcomer.spec_from("cancer.csv"),
             ContainsSubstring("\n  target: [diagnosis]\n") && ContainsSubstring("kind: cross_entropy\n"));
  const std::string radius = newcomer.spec_from("cancer.csv", {"--target", "radius"});
  CHECK_THAT(radius, ContainsSubstring("\n  target: [radius]\n") &&
                         ContainsSubstring("kind: mean_squared_error\n") &&
                         ContainsSubstring("radius to predict, 10.85 to 26.85"));
  CHECK_THAT(
      newcomer.spec_from("cancer.csv", {"--target", "radius", "--target", "width"}),
      ContainsSubstring("\n  target: [radius, width]\n") && ContainsSubstring("kind: mean_squared_error\n"));
  CHECK_THAT(
      newcomer.spec_from("cancer.csv", {"--target", "ill", "--target", "old"}),
      ContainsSubstring("\n  target: [ill, old]\n") && ContainsSubstring("kind: binary_cross_entropy\n"));
  const auto refused = [&](const std::vector<std::string>& targets, int exit_code = 3) {
    std::vector<std::string> arguments = {"init", "--from", "cancer.csv"};
    for (const std::string& target : targets) arguments.insert(arguments.end(), {"--target", target});
    const Outcome outcome = newcomer.run(arguments);
    CHECK(outcome.exit_code == exit_code);
    return outcome.errors;
  };
  CHECK_THAT(refused({"radios"}), ContainsSubstring("there is no column 'radios'; did you mean 'radius'?"));
  CHECK_THAT(refused({"cost"}),
             ContainsSubstring("there is no column 'cost'; there are diagnosis, ill, old, radius, width\n"));
  CHECK_THAT(refused({"radius", "diagnosis"}), ContainsSubstring("the column 'diagnosis' holds words"));
  newcomer.write_pictures("photos/rose", 4, 20, 20);
  newcomer.write_pictures("photos/tulip", 4, 20, 20);
  const Outcome pictures = newcomer.run({"init", "--from", "photos", "--target", "radius"});
  CHECK(pictures.exit_code == 2);
  CHECK_THAT(pictures.errors, ContainsSubstring("--target names a column of a table, and this is none"));
  CHECK(newcomer.run({"init", "--target", "radius"}).exit_code == 2);
  // A loss for classes, by hand.
  const Outcome by_hand =
      newcomer.run({"init", "job2.yaml", "--from", "cancer.csv", "--set", "data.target=radius"});
  REQUIRE(by_hand.exit_code == 0);
  CHECK_THAT(by_hand.errors,
             ContainsSubstring("NOTE: --set data.target chooses no loss for the column; --target does"));
  newcomer.write("parts/train.csv", text);
  newcomer.write("parts/test.csv", "radius,width,ill,old,diagnosis\n10.85,1,1,1,B\n77.85,1,1,1,B\n");
  const Outcome planned =
      newcomer.run({"plan", "job2.yaml", "--set", "data.path=parts", "--set", "data.split.test=none"});
  CHECK(planned.exit_code == 3);
  CHECK_THAT(planned.errors,
             ContainsSubstring("column 'radius', row 2: '77.85' is not a class of the training "
                               "examples; the column holds numbers: to predict them, and no classes, "
                               "use train.loss: mean_squared_error"));
}

#ifdef DTRAIN_PARQUET_MODULE
TEST_CASE("init --from Parquet files refuses a test part without the target beside several files") {
  Newcomer newcomer;
  newcomer.there.environment["DTRAIN_PARQUET_MODULE"] = DTRAIN_PARQUET_MODULE;
  const fs::path shipped = fs::path(DTRAIN_SOURCE_DIR) / "tests/data/tables/parquet";
  for (const char* name : {"train-0", "train-1"})
    newcomer.write(fmt::format("contest/{}.parquet", name), content_of(shipped / "old.parquet"));
  newcomer.write("contest/test-0.parquet", content_of(shipped / "nested.parquet"));
  const Outcome outcome = newcomer.run({"init", "--from", "contest", "--target", "double"});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.errors, ContainsSubstring("test-0.parquet: is no test part without double, and dtrain"));
}
#endif

TEST_CASE("init --from arrays") {
  const Newcomer newcomer;
  const at::Tensor inputs = at::randn({60, 5}), classes = at::arange(60).remainder(3);
  write_safetensors(newcomer.folder / "a.safetensors", {{"x_train", inputs}, {"y_train", classes}}, {});
  CHECK_THAT(newcomer.spec_from("a.safetensors"),
             ContainsSubstring("60 examples of 5 numbers, 3 classes") && ContainsSubstring("kind: mlp\n") &&
                 ContainsSubstring("test: 0.2\n") && ContainsSubstring("kind: cross_entropy\n"));
  write_safetensors(newcomer.folder / "b.safetensors",
                    {{"x_train", inputs},
                     {"y_train", at::randint(0, 2, {60, 4}, at::kLong)},
                     {"x_test", inputs.narrow(0, 0, 5)},
                     {"y_test", at::zeros({5, 4}, at::kLong)}},
                    {});
  CHECK_THAT(newcomer.spec_from("b.safetensors"),
             ContainsSubstring("kind: binary_cross_entropy\n") && !ContainsSubstring("split"));
  write_safetensors(newcomer.folder / "c.safetensors", {{"x_train", inputs}, {"y_train", at::randn({60})}},
                    {});
  CHECK_THAT(newcomer.spec_from("c.safetensors"), ContainsSubstring("kind: mean_squared_error\n"));
}

TEST_CASE("init --from archives of pictures, which data check reads too") {
  const Newcomer newcomer;
  at::manual_seed(3);
  for (int i = 0; i < 12; ++i) {
    const std::string key = "files/" + std::to_string(100 + i);
    newcomer.write(key + ".png", png_file(at::randint(0, 256, {3, 24, 24}, at::kByte)));
    newcomer.write(key + ".cls", i % 3 == 0 ? "rose" : "tulip");
  }
  newcomer.write("files/105.png", "no PNG");
  fs::create_directories(newcomer.folder / "shards");
  REQUIRE(std::system(
              ("cd '" + (newcomer.folder / "files").string() + "' && tar -cf ../shards/a.tar *").c_str()) ==
          0);
  CHECK_THAT(
      newcomer.spec_from("shards"),
      ContainsSubstring("\n  dataset: tar\n") && ContainsSubstring("\n    size: [24, 24]\n") &&
          ContainsSubstring("12 pictures of 2 classes: rose (4), tulip (8); 1 looked at cannot be read"));
  const Outcome checked = newcomer.run({"data", "check", "job.yaml", "--out", "check.html"});
  CHECK(checked.exit_code == 3);
  CHECK_THAT(
      checked.output,
      ContainsSubstring(
          "broken (1): cannot be used; training ends with an error, or leaves them out (data.on_bad_example: "
          "skip)\n  ") &&
          ContainsSubstring("a.tar: 105.png: no JPEG, PNG"));
}

TEST_CASE("init --from says what it looked for where there is nothing it knows") {
  const Newcomer newcomer;
  CHECK_THAT(newcomer.refused("nowhere"), ContainsSubstring("nowhere: there is no such file or folder"));
  const Outcome odd = newcomer.run({"init", "--from", "ftp://host/a.csv"});
  CHECK(odd.exit_code == 2);
  CHECK_THAT(odd.errors, ContainsSubstring("--from: addresses of data begin with https:// or s3://"));
  fs::create_directories(newcomer.folder / "empty");
  CHECK_THAT(newcomer.refused("empty"),
             ContainsSubstring("an empty folder; looked for:\n  a folder of pictures"));
  newcomer.write("text/notes.txt", "");
  CHECK_THAT(newcomer.refused("text"),
             ContainsSubstring("no data that dtrain can read, but 1 .txt; looked for:"));
  newcomer.write("scans/a/1.heic", "");
  newcomer.write("scans/a/2.heic", "");
  newcomer.write("scans/b/3.HEIC", "");
  CHECK_THAT(newcomer.refused("scans"),
             ContainsSubstring("no data that dtrain can read, but 3 .heic; looked for:") &&
                 ContainsSubstring("others, such as .heic and .avif, have to be converted"));
  newcomer.write("archive.zip", "");
  CHECK_THAT(newcomer.refused("archive.zip"), ContainsSubstring("an archive; unpack it"));
  newcomer.write("prices.xlsx", "PK\x03\x04");
  CHECK_THAT(newcomer.refused("prices.xlsx"), ContainsSubstring("prices.xlsx: is a workbook, as of Excel"));
  newcomer.write_pictures("loose", 2, 8, 8);
  CHECK_THAT(newcomer.refused("loose"), ContainsSubstring("2 pictures, but no folders of classes"));
  CHECK_THAT(newcomer.refused("loose/picture0.png"), ContainsSubstring("one picture; name the folder"));
  newcomer.write("loop/a/notes.txt", "");
  fs::create_directory_symlink("..", newcomer.folder / "loop/a/up");
  fs::create_symlink("self", newcomer.folder / "loop/self");
  CHECK_THAT(newcomer.refused("loop"), ContainsSubstring("no data that dtrain can read"));
  CHECK_THAT(newcomer.refused("loop/self"),
             ContainsSubstring("loop/self: Too many levels of symbolic links"));
  newcomer.write_pictures("latin/\xE4", 2, 8, 8);
  newcomer.write_pictures("latin/b", 2, 8, 8);
  CHECK_THAT(newcomer.refused("latin"), ContainsSubstring("\\xe4: its name is not UTF-8 text; rename it"));
  CHECK(newcomer.run({"init", "--from", "empty", "--dataset", "csv"}).exit_code == 2);
}

}  // namespace
}  // namespace dtrain
