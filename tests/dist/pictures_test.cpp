// Jobs on folders of pictures.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/file.h>

#include <csignal>
#include <map>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>

#include "catch.h"
#include "core/descriptor.h"
#include "data/dataset.h"
#include "hosts.h"
#include "http_server.h"
#include "job.h"
#include "job_file/load.h"
#include "picture_job.h"
#include "resumable.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

std::string weights_of(const fs::path& run) {
  std::string newest;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.path().filename() == "model.safetensors") newest = std::max(newest, entry.path().string());
  }
  REQUIRE_FALSE(newest.empty());
  return content_of(newest);
}

TEST_CASE("pictures train to the same bits from the cache and without one, and alike with any replicas") {
  const PictureJob job;
  job.trained("cached", {});
  CHECK(job.cached_files() == 1);
  job.trained("again", {"strategy.replicas=1"});
  CHECK(job.cached_files() == 1);  // both from one file
  job.trained("read", {"data.cache=none"});
  CHECK(weights_of(job.folder() / "cached") == weights_of(job.folder() / "read"));
  job.trained("read without a thread", {"data.cache=none", "data.prefetch=0"});
  CHECK(weights_of(job.folder() / "cached") == weights_of(job.folder() / "read without a thread"));

  const Event listed = Event::parse(job.start({"cache", "--json"}).output);
  const fs::path file = listed.at("files").at(0).at("file").get<std::string>();
  write_file(file, std::string(fs::file_size(file), '\0'));
  write_file(job.folder() / "pictures" / "red" / "scan.heic", "");
  job.trained("damaged", {});
  CHECK_THAT(content_of(job.folder() / "damaged" / "metrics.jsonl"),
             ContainsSubstring("1 file is left out: 1 .heic; dtrain reads .jpg"));
  CHECK(weights_of(job.folder() / "cached") == weights_of(job.folder() / "damaged"));

  CHECK_THAT(job.start({"cache", "--clear"}).output, ContainsSubstring("90 pictures of [3, 8, 8] from"));
  job.trained("in memory", {"data.cache=memory"});
  CHECK(weights_of(job.folder() / "cached") == weights_of(job.folder() / "in memory"));
  CHECK_THAT(job.start({"cache"}).output, !ContainsSubstring("picture"));  // gone with the job

  const auto evaluated = [&](const std::string& run) {
    const Finished ended = job.start({"eval", job.folder() / run, "--json"});
    INFO(ended.errors);
    REQUIRE(ended.exit_code == 0);
    return Event::parse(ended.output);
  };
  const Event two = evaluated("cached"), one = evaluated("again");
  CHECK(two.at("loss").get<double>() == Approx(one.at("loss").get<double>()).epsilon(1e-4));
  CHECK(two.at("accuracy").get<double>() > 0.6);  // it learns: guessing gives a third
}

TEST_CASE("packed pictures train to the same bits as the folder") {
  const PictureJob job;
  job.trained("folder", {});
  const Finished packed =
      job.start({"data", "pack", job.spec_file(), "--out", job.folder() / "shards", "--shard-size", "9KB"});
  INFO(packed.errors);
  REQUIRE(packed.exit_code == 0);
  const Finished ended =
      job.start({"run", job.spec_file(), "--run-dir", job.folder() / "packed", "--set", "data.dataset=tar",
                 "--set", "data.path=" + (job.folder() / "shards").string(), "--unset", "data.split"});
  INFO(ended.errors);
  REQUIRE(ended.exit_code == 0);
  CHECK(weights_of(job.folder() / "folder") == weights_of(job.folder() / "packed"));
}

TEST_CASE("a signal ends data pack while it looks for bad pictures") {
  const PictureJob job;
  const auto pack = [&](const char* out) {
    return Arguments{"data", "pack", job.spec_file(), "--out", job.folder() / out} +
           Job::set({"data.on_bad_example=skip", "data.cache=none"});
  };
  REQUIRE(job.start(pack("first")).exit_code == 0);
  // As if another process were reading the pictures: the next one waits for its lock.
  fs::path list;
  for (const auto& entry : fs::directory_iterator(job.folder() / "cache/dtrain/data")) {
    if (entry.path().extension() == ".bad") list = entry.path();
  }
  REQUIRE(fs::remove(list));
  const fs::path lock = list.string() + ".lock";
  Descriptor held(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(held.get(), LOCK_EX) == 0);
  Program program(pack("second"), job.options);
  const fs::path files = "/proc/" + std::to_string(program.process()) + "/fd";
  REQUIRE(eventually(kSoon, [&] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(files, none)) {
      if (fs::read_symlink(entry, none) == fs::canonical(lock)) return true;
    }
    return false;
  }));
  program.send(SIGTERM);
  held.reset();
  CHECK(program.wait().exit_code == 128 + SIGTERM);
  CHECK_FALSE(fs::exists(job.folder() / "second"));
}

TEST_CASE("streamed pictures train to the same bits as the folder, with any replicas, in one go or resumed") {
  const PictureJob job;
  const Finished packed =
      job.start({"data", "pack", job.spec_file(), "--out", job.folder() / "shards", "--shard-size", "9KB"});
  INFO(packed.errors);
  REQUIRE(packed.exit_code == 0);
  HttpServer server([&](const AskedFor& request) {
    const fs::path file = job.folder() / request.path.substr(1);
    return fs::is_regular_file(file) ? part_of(content_of(file), request, "\"1\"") : Answer{.status = 404};
  });
  const Arguments steps = {"data.augment=[flip, mixup]", "checkpoint.every_steps=4"};
  const Arguments there = Arguments{"data.dataset=tar", "data.path=" + server.address() + "/shards/",
                                    "data.stream=true", "data.split.test=none", "data.split.validation=none"};
  job.trained("two", steps + Arguments{"data.cache=none"});
  job.trained("one", steps + Arguments{"data.cache=none", "strategy.replicas=1"});
  fs::remove_all(job.folder() / "cache");
  job.trained("two streamed", steps + there);
  job.trained("one streamed", steps + there + Arguments{"strategy.replicas=1", "data.prefetch=0"});
  // Step 9 is within the second epoch.
  job.trained("first part", steps + there + Arguments{"train.max_steps=9"});
  const Finished resumed =
      job.start({"run", "--resume", job.folder() / "first part", "--set", "train.max_steps=none"});
  INFO(resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  CHECK(weights_of(job.folder() / "two streamed") == weights_of(job.folder() / "two"));
  CHECK(weights_of(job.folder() / "first part") == weights_of(job.folder() / "two"));
  CHECK(weights_of(job.folder() / "one streamed") == weights_of(job.folder() / "one"));
  const Finished evaluated = job.start({"eval", job.folder() / "two streamed"});
  INFO(evaluated.errors);
  CHECK(evaluated.exit_code == 0);
  CHECK_FALSE(fs::exists(job.folder() / "cache"));

  // A shard that changes ends the job, and its name is in the message.
  const fs::path shard = job.folder() / "shards" / "train" / "shard-000002.tar";
  std::string bytes = content_of(shard);
  bytes[700] = static_cast<char>(bytes[700] ^ 1);
  write_file(shard, bytes);
  const Finished changed = job.start(
      Arguments{"run", job.spec_file(), "--run-dir", job.folder() / "changed"} + Job::set(steps + there));
  CHECK(changed.exit_code == static_cast<int>(ExitCode::kData));
  CHECK_THAT(changed.errors, ContainsSubstring("/shards/train/shard-000002.tar: it has other bytes"));
}

TEST_CASE("predict sees pictures as training does, with the classes' names, whatever the folder holds then") {
  const PictureJob job;
  job.trained("run", {"data.split.validation=none"});
  const Event all =
      Event::parse(job.start({"eval", job.folder() / "run", "--json", "--replicas", "2"}).output);
  const Event train =
      Event::parse(job.start({"eval", job.folder() / "run", "--json", "--split", "train"}).output);
  CHECK(all.at("classes").at(1).at("name") == "green");
  fs::rename(job.folder() / "pictures", job.folder() / "moved");
  fs::create_directories(job.folder() / "pictures" / "yellow");  // for another model
  Arguments arguments = {"predict", job.folder() / "run", "--json", "--top", "1"};
  for (const auto& entry : fs::recursive_directory_iterator(job.folder() / "moved")) {
    if (entry.is_regular_file()) arguments.push_back(entry.path());
  }
  const Finished predicted = job.start(arguments);
  INFO(predicted.errors);
  REQUIRE(predicted.exit_code == 0);
  int64_t right = 0;
  for (const std::string& line : lines_of(predicted.output)) {
    const Event prediction = Event::parse(line);
    const auto file = fs::path(prediction.at("file").get<std::string>());
    right +=
        file.parent_path().filename() == prediction.at("predictions").at(0).at("name").get<std::string>();
  }
  CHECK(right == all.at("correct").get<int64_t>() + train.at("correct").get<int64_t>());
}

// The mean of the pixels of each channel of the training part, scaled to 0..1.
at::Tensor mean_of_pixels(const PictureJob& job) {
  LoadedSpec loaded = load_spec(job.spec_file(), {"data.cache=none"});
  const ExampleSourcePtr train = load_dataset(loaded.spec.data, 0).train;
  std::vector<int64_t> all(static_cast<size_t>(train->size()));
  std::iota(all.begin(), all.end(), 0);
  ExampleSlot slot{at::empty({train->size(), 3, 8, 8}, at::kByte), at::empty({train->size()}, at::kLong)};
  train->read(all, {}, slot);
  return slot.inputs.to(at::kDouble).div_(255).mean({0, 2, 3});
}

TEST_CASE("what is measured of the pictures is kept with the model, for exports and predictions") {
  const PictureJob job;
  const Arguments measured = {"data.image.mean=measured", "data.image.standard_deviation=measured"};
  job.trained("run", measured);
  job.trained("read", measured + Arguments{"data.cache=none"});
  CHECK(weights_of(job.folder() / "run") == weights_of(job.folder() / "read"));
  const JobSpec spec = load_spec(job.folder() / "run" / "spec.yaml").spec;
  REQUIRE(spec.data.image.mean.values.size() == 3);
  CHECK(at::allclose(at::tensor(spec.data.image.mean.values), mean_of_pixels(job), 0, 0.6e-6));

  const Finished evaluated = job.start({"eval", job.folder() / "run", "--json", "--split", "train"});
  REQUIRE(evaluated.exit_code == 0);
  fs::rename(job.folder() / "pictures", job.folder() / "moved");
  Arguments predict = {"predict", job.folder() / "run", "--json", "--top", "1"};
  for (const char* name : {"blue", "green", "red"}) {
    for (const auto& entry : fs::directory_iterator(job.folder() / "moved" / name))
      predict.push_back(entry.path());
  }
  const Finished predicted = job.start(predict);
  INFO(predicted.errors);
  CHECK(predicted.exit_code == 0);
  const std::string exported = job.folder() / "model.safetensors";
  REQUIRE(
      job.start({"export", job.folder() / "run", "--format", "safetensors", "--out", exported}).exit_code ==
      0);
  CHECK_THAT(content_of(exported),
             ContainsSubstring("\"mean\":\"" + text_of(spec.data.image.mean.values) + "\""));
  const Finished again = job.start({"eval", job.folder() / "run", "--set", "data.image.mean=measured"});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.errors, ContainsSubstring("a trained model keeps the numbers that were measured for it"));
}

TEST_CASE("a newcomer's folder becomes a job, a model and predictions") {
  PictureJob job;
  job.options.working_folder = job.folder();
  const Finished written = job.start({"init", "--from", "pictures"});
  INFO(written.errors);
  REQUIRE(written.exit_code == 0);
  write_file(job.folder() / "mine.yaml", written.output);
  const Finished run = job.start({"run", "mine.yaml", "--run-dir", "runs/mine", "--set", "train.epochs=8"});
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  // A picture of another size and format, which is all red.
  write_file(
      job.folder() / "new.ppm", "P6 90 40 255\n" + [] {
        std::string pixels;
        for (int pixel = 0; pixel < 90 * 40; ++pixel) pixels += std::string("\xFA\x64\x64", 3);
        return pixels;
      }());
  const Finished predicted = job.start({"predict", "runs/mine", "new.ppm"});
  INFO(predicted.errors);
  CHECK(predicted.exit_code == 0);
  CHECK_THAT(predicted.output, StartsWith("new.ppm  2 red 0."));
}

const char* const kAugmented =
    "data.augment=[{kind: random_resized_crop, scale: [0.5, 1]}, flip, {kind: rotate, degrees: 10}, "
    "{kind: color_jitter, hue: 0.1, saturation: 0.3}, random_erasing, trivial_augment, mixup, {kind: cutmix, "
    "probability: 0.5}]";

TEST_CASE("augmented pictures train to the same bits cached or not, ahead or not, and in one go or resumed") {
  const PictureJob job;
  const Arguments steps = {kAugmented, "checkpoint.every_steps=4"};
  job.trained("whole", steps);
  job.trained("plain", {});
  CHECK(weights_of(job.folder() / "whole") != weights_of(job.folder() / "plain"));
  job.trained("read", steps + Arguments{"data.cache=none"});
  CHECK(weights_of(job.folder() / "whole") == weights_of(job.folder() / "read"));
  job.trained("ahead", steps + Arguments{"data.prefetch=3"});
  CHECK(weights_of(job.folder() / "whole") == weights_of(job.folder() / "ahead"));

  // 90 pictures, of which about half train, in steps of 8: step 9 is within the second epoch.
  job.trained("first part", steps + Arguments{"train.max_steps=9"});
  const Finished resumed =
      job.start({"run", "--resume", job.folder() / "first part", "--set", "train.max_steps=none", "--json"});
  INFO(resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  CHECK(weights_of(job.folder() / "whole") == weights_of(job.folder() / "first part"));
}

TEST_CASE("augmented pictures that are killed in mid-epoch go on to the same weights bit for bit") {
  const PictureJob whole, killed;
  const Arguments steps = {kAugmented, "checkpoint.every_steps=2", "train.epochs=12"};
  whole.trained("run", steps);
  Program program(killed.run(Job::set(steps)), killed.options);
  wait_for_checkpoint(killed, 20);
  program.send(SIGKILL);
  program.wait();
  REQUIRE(killed.is_gone());
  const Finished resumed = killed.start({"run", "--resume", killed.run_folder(), "--json"});
  INFO(resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  const Event start = killed.events("run_start").back();
  const auto from = start.at("resumed_step").get<int64_t>();
  CHECK(from >= 20);
  CHECK(from < start.at("total_steps").get<int64_t>());
  CHECK(result_of(killed) == result_of(whole));
}

// Two processes of one job: ranks that a launcher has started, or the supervisors of two hosts. Each place
// has a cache of its own, as on other machines.
std::vector<ProgramOptions> two_places(const PictureJob& job, bool are_hosts) {
  const std::string port = free_port();
  std::vector<ProgramOptions> places(2);
  for (int index = 0; index < 2; ++index) {
    const std::string number = std::to_string(index);
    std::map<std::string, std::string>& environment = places[static_cast<size_t>(index)].environment;
    if (are_hosts)
      environment = {{"TF_CONFIG", tf_config(2, index, port)}, {"DTRAIN_JOB_TOKEN", "a token for both"}};
    else
      environment = {{"RANK", number},          {"LOCAL_RANK", number},       {"WORLD_SIZE", "2"},
                     {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
    environment["XDG_CACHE_HOME"] = (job.folder() / ("cache of " + number)).string();
  }
  return places;
}

// Runs the job in two places, and returns how both ended.
std::vector<Finished> run_in(const std::vector<ProgramOptions>& places, const PictureJob& job,
                             const std::vector<Arguments>& arguments) {
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t index = 0; index < places.size(); ++index)
    programs.push_back(std::make_unique<Program>(job.run(kSeveral + arguments[index]), places[index]));
  std::vector<Finished> ended;
  for (const auto& program : programs) ended.push_back(program->wait());
  return ended;
}

TEST_CASE("launched processes and two hosts train on augmented pictures to the bits of one supervisor") {
  const PictureJob supervised;
  // What the sum of two is does not depend on their order.
  const Arguments steps = {kAugmented, "strategy.threads_per_replica=1", "train.epochs=2"};
  supervised.trained("run", steps);
  for (const bool are_hosts : {false, true}) {
    const PictureJob spread;
    const Arguments arguments = Job::set(steps + Arguments{"data.cache=memory"});
    for (const Finished& end : run_in(two_places(spread, are_hosts), spread, {arguments, arguments})) {
      INFO(end.errors);
      REQUIRE(end.exit_code == 0);
    }
    CHECK(weights_of(spread.run_folder()) == weights_of(supervised.run_folder()));
  }
}

TEST_CASE("a damaged picture ends the job before it begins, and later where nothing is cached") {
  const PictureJob job;
  const fs::path bad = job.picture("green", 40);
  write_file(bad, content_of(bad).substr(0, 50));
  for (const char* cache : {"auto", "none"}) {
    const Finished ended = job.start(job.run(Job::set({std::string("data.cache=") + cache})));
    CHECK(ended.exit_code == 3);
    CHECK_THAT(ended.errors, ContainsSubstring("green/40.png: no sound PNG"));
    CHECK(fs::exists(job.run_folder()) == (std::string(cache) == "none"));
  }
  CHECK(job.is_gone());
}

// Cuts off two pictures, and puts a link to nowhere beside the others.
void damage(const PictureJob& job) {
  for (const auto& [name, number] : {std::pair{"green", 40}, {"red", 77}}) {
    const fs::path bad = job.picture(name, number);
    fs::resize_file(bad, 50);
  }
  fs::create_symlink("nowhere", job.folder() / "pictures/blue/nowhere.jpg");
}

void mend(const PictureJob& job) {
  fs::remove(job.picture("green", 40));
  fs::remove(job.picture("red", 77));
  fs::remove(job.folder() / "pictures/blue/nowhere.jpg");
}

TEST_CASE("pictures that cannot be read are left out, named and counted, as if they were not there") {
  const PictureJob job;
  damage(job);
  const Arguments skip = {"data.on_bad_example=skip", "train.epochs=1"};
  const auto planned = [&] {
    const Finished plan = job.start(Arguments{"plan", job.spec_file(), "--json"} + Job::set(skip));
    INFO(plan.errors);
    REQUIRE(plan.exit_code == 0);
    return Event::parse(plan.output).at("data");
  };
  CHECK(planned().at("bad_examples").is_null());
  const Finished few = job.start(job.run(Job::set(skip + Arguments{"data.bad_examples_allowed=2"})));
  CHECK(few.exit_code == 3);
  CHECK_THAT(few.errors,
             ContainsSubstring("3 pictures cannot be read: blue/nowhere.jpg: cannot open: No such") &&
                 ContainsSubstring("data.bad_examples_allowed is 2"));
  CHECK_FALSE(fs::exists(job.run_folder()));

  const Finished run = job.start(job.run(Job::set(skip)));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("WARNING: 3 pictures cannot be read: blue/nowhere.jpg: ") &&
                             ContainsSubstring("without 3 that cannot be read"));
  const Event start = job.event("run_start", "distributed"), plan = planned();
  CHECK(start.at("bad_examples") == 3);
  CHECK(plan.at("bad_examples") == 3);
  int64_t examples = 0;
  for (const char* part : {"train_examples", "validation_examples", "test_examples"}) {
    CHECK(start.at(part) == plan.at(part));
    examples += start.at(part).get<int64_t>();
  }
  CHECK(examples == 88);
  job.trained("read", skip + Arguments{"data.cache=none"});
  CHECK(weights_of(job.folder() / "read") == weights_of(job.run_folder()));
  const Finished evaluated = job.start({"eval", job.run_folder(), "--replicas", "2", "--json"});
  CHECK(evaluated.exit_code == 0);
  CHECK_THAT(evaluated.errors, ContainsSubstring("WARNING: 3 pictures cannot be read"));

  mend(job);
  job.trained("mended", {"train.epochs=1"});
  CHECK(weights_of(job.folder() / "mended") == weights_of(job.run_folder()));
}

TEST_CASE("hosts that leave out the same pictures train, and others are refused on all of them") {
  const PictureJob job;
  damage(job);
  const bool same = GENERATE(true, false);
  fs::copy(job.folder() / "pictures", job.folder() / "others",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  if (!same) {  // as many, of the same class
    write_file(job.folder() / "others/green/40.png", content_of(job.picture("green", 41)));
    write_file(job.folder() / "others/green/41.png", "");
  }
  const Arguments skip = {"data.on_bad_example=skip", "train.epochs=1"};
  const Arguments other = {"data.path=" + (job.folder() / "others").string()};
  for (const Finished& end :
       run_in(two_places(job, /*are_hosts=*/true), job, {Job::set(skip), Job::set(skip + other)})) {
    INFO(end.errors);
    CHECK(end.exit_code == (same ? 0 : 2));
    CHECK((end.errors.find("without 3 that cannot be read (checksum of the names") == std::string::npos) ==
          same);
  }
}

}  // namespace
}  // namespace dtrain
