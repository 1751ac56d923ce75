// A job on folders of pictures.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>

#include "catch.h"
#include "codecs/image_file.h"
#include "job.h"

namespace dtrain {

inline const char* const kPictureSpec = R"(
name: pictures
strategy: {kind: mirrored, replicas: 2, timeout_seconds: 30}
data:
  dataset: image_folder
  path: pictures
  image: {size: [8, 8], fit: crop, mean: imagenet, standard_deviation: [0.2, 0.3, 0.4]}
  split: {test: 0.3, validation: 0.2}
batch: {global: 8}
model: {kind: mlp, hidden: [8]}
train: {epochs: 6, optimizer: {learning_rate: 0.01}}
)";

// A job on 90 pictures of three classes, which differ in their colours, with a cache of its own.
struct PictureJob : Job {
  ProgramOptions options;

  PictureJob() : Job(kPictureSpec) {
    options.environment["XDG_CACHE_HOME"] = (folder() / "cache").string();
    at::manual_seed(1);
    int64_t number = 0;
    for (const char* name : {"blue", "green", "red"}) {
      std::filesystem::create_directories(folder() / "pictures" / name);
      const int64_t channel = 2 - number / 30;
      for (const int64_t end = number + 30; number < end; ++number) {
        at::Tensor pixels = at::randint(0, 200, {3, 7 + number % 5, 6 + number % 7}, at::kByte);
        pixels[channel].add_(50);
        write_file(picture(name, number), png_file(pixels));
      }
    }
  }
  std::filesystem::path picture(const std::string& name, int64_t number) const {
    return folder() / "pictures" / name / (std::to_string(number) + ".png");
  }
  Finished start(const Arguments& arguments) const { return run_program(arguments, options); }
  Event trained(const std::string& run, const Arguments& overrides) const {
    const std::filesystem::path run_folder = folder() / run;
    const Finished ended =
        start(Arguments{"run", spec_file(), "--run-dir", run_folder, "--json"} + set(overrides));
    INFO(ended.output << ended.errors);
    REQUIRE(ended.exit_code == 0);
    return Event::parse(content_of(run_folder / "summary.json"));
  }
  int64_t cached_files() const {
    return static_cast<int64_t>(Event::parse(start({"cache", "--json"}).output).at("files").size());
  }
};

}  // namespace dtrain
