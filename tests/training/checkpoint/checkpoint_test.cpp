#include "checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>

#include "checkpoints.h"
#include "core/checksum.h"
#include "core/random.h"
#include "core/signals.h"
#include "core/version.h"
#include "files.h"
#include "ordinary_user.h"
#include "same_tensors.h"
#include "sanitized.h"

namespace {

int error_of_exchange = 0;  // what exchanging two names ends with, as on some file systems; 0: nothing

}  // namespace

// In the place of the C library's.
extern "C" int renameat2(int from, const char* old_name, int to, const char* new_name,
                         unsigned int flags) noexcept {
  if (error_of_exchange == 0 || flags != RENAME_EXCHANGE)
    return static_cast<int>(::syscall(SYS_renameat2, from, old_name, to, new_name, flags));
  errno = error_of_exchange;
  return -1;
}

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFiles = {"manifest.json", "model.safetensors", "optimizer.safetensors"};

void expect_same(const Checkpoint& loaded, Checkpoint saved) {
  CHECK(same_tensors(loaded.model, saved.model));
  CHECK(same_tensors(loaded.optimizer, saved.optimizer));
  saved.state.dtrain = kVersion;
  saved.state.libtorch = loaded.state.libtorch;
  CHECK((loaded.state == saved.state));
}

TEST_CASE("what is saved is loaded, bit for bit, and nothing else lies there") {
  const TemporaryFolder folder;
  const Checkpoint checkpoint = small_checkpoint(1234);
  const fs::path path = save_checkpoint(folder / "checkpoints", checkpoint);
  CHECK(path == folder / "checkpoints/step-000001234");
  CHECK(names_in(folder / "checkpoints") == std::vector<std::string>{"step-000001234"});
  CHECK(names_in(path) == kFiles);
  expect_same(load_checkpoint(path), checkpoint);
  const CheckpointReport report = inspect_checkpoint(path);
  CHECK(report.problems.empty());
  REQUIRE(report.state.has_value());
  CHECK(report.state->step == 1234);
  REQUIRE(report.files.size() == 2);
  CHECK(report.files[0].tensors.size() == checkpoint.model.size());
  for (const FileReport& file : report.files) {
    for (const TensorReport& tensor : file.tensors) CHECK(tensor.good == true);
  }
}

TEST_CASE("a program that is kept beside the tensors is checked, too") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = small_checkpoint(3);
  checkpoint.program = settled_program(write_file(folder / "program.pt", "a program"));
  const fs::path path = save_checkpoint(folder / "checkpoints", checkpoint);
  CHECK(inspect_checkpoint(path).problems.empty());
  CHECK(inspect_checkpoint(path).files.back().name == "program.pt");
  expect_same(load_checkpoint(path), checkpoint);
  write_file(path / "program.pt", "a damage!");
  REQUIRE(inspect_checkpoint(path).problems.size() == 1);
  CHECK_THAT(inspect_checkpoint(path).problems[0],
             ContainsSubstring("program.pt: is damaged: its checksum does not match; put the model.file"));
  fs::remove(path / "program.pt");
  REQUIRE(inspect_checkpoint(path).problems.size() == 1);
  CHECK_THAT(inspect_checkpoint(path).problems[0], ContainsSubstring("cannot open: No such file"));
  fs::remove(folder / "program.pt");
  checkpoint.state.step += 1;
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { save_checkpoint(folder / "checkpoints", checkpoint); }),
             ContainsSubstring("cannot copy the file: No such file"));
}

TEST_CASE("numbers of the state survive exactly, and what JSON cannot hold is left out") {
  const TemporaryFolder folder;
  constexpr int64_t kMany = 1'000'000'000'000;
  Checkpoint checkpoint = small_checkpoint(0);
  checkpoint.model.clear();
  checkpoint.optimizer.clear();
  checkpoint.state.learning_rate = 0.1 + 0.2;
  checkpoint.state.train_examples = kMany;
  checkpoint.state.global_batch = 1;
  checkpoint.state.position = checkpoint.state.step = kMany - 1;
  checkpoint.state.metrics = {{"loss", std::nan("")}, {"accuracy", 1.0 / 3}};
  checkpoint.state.spec = "name: \"\xff\"\n";  // is not UTF-8: no spec that was read is like that
  const TrainingState state = load_checkpoint(save_checkpoint(folder.path(), checkpoint)).state;
  CHECK(state.learning_rate == 0.1 + 0.2);
  CHECK(state.position == kMany - 1);
  CHECK(state.metrics == std::map<std::string, double>{{"accuracy", 1.0 / 3}});
}

TEST_CASE("a checkpoint of the same step is replaced, even a damaged one") {
  const TemporaryFolder folder;
  Checkpoint checkpoint = small_checkpoint(5);
  const fs::path path = save_checkpoint(folder.path(), checkpoint);
  write_file(path / "model.safetensors", "damaged");
  checkpoint.state.learning_rate = 7;
  CHECK(save_checkpoint(folder.path(), checkpoint) == path);
  expect_same(load_checkpoint(path), checkpoint);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000005"});
}

// Loading and inspecting agree that a checkpoint is damaged.
void expect_damaged(const fs::path& path) {
  failure_of(ExitCode::kCheckpoint, [&] { load_checkpoint(path); });
  CHECK_FALSE(inspect_checkpoint(path).problems.empty());
}

TEST_CASE("a checkpoint is replaced where the file system cannot exchange two names, too") {
  const int error = GENERATE(EINVAL, ENOSYS);
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), small_checkpoint(1));
  Checkpoint other = small_checkpoint(1);
  other.model.emplace_back("more", at::ones({3}));
  {
    error_of_exchange = error;
    const auto again = c10::make_scope_exit([] { error_of_exchange = 0; });
    save_checkpoint(folder.path(), other);
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000001"});
  expect_same(load_checkpoint(folder / "step-000000001"), other);
}

TEST_CASE("each of 1,000 flipped bits is found, wherever it is") {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), small_checkpoint(3));
  std::vector<std::string> contents;
  size_t bytes = 0;
  for (const std::string& name : kFiles) bytes += contents.emplace_back(content_of(path / name)).size();
  RandomGenerator random(42);
  for (int flip = 0; flip < 1000; ++flip) {
    size_t at = random.below(bytes);
    size_t file = 0;
    for (; at >= contents[file].size(); ++file) at -= contents[file].size();
    std::string damaged = contents[file];
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    write_file(path / kFiles[file], damaged);
    INFO(kFiles[file] << " at " << at);
    expect_damaged(path);
    write_file(path / kFiles[file], contents[file]);
  }
  CHECK_NOTHROW(load_checkpoint(path));
}

TEST_CASE("a file that was cut off anywhere, made longer or is missing is found") {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), small_checkpoint(3));
  for (const std::string& name : kFiles) {
    const std::string content = content_of(path / name);
    for (size_t length = 0; length < content.size(); ++length) {
      write_file(path / name, content.substr(0, length));
      INFO(name << " cut to " << length);
      failure_of(ExitCode::kCheckpoint, [&] { load_checkpoint(path); });
    }
    for (const std::string& more : {std::string("\n"), std::string(8, '\0'), content}) {
      write_file(path / name, content + more);
      expect_damaged(path);
    }
    fs::remove(path / name);
    expect_damaged(path);
    write_file(path / name, content);
  }
  CHECK_NOTHROW(load_checkpoint(path));
}

TEST_CASE("files of two checkpoints do not make one") {
  const TemporaryFolder folder;
  const fs::path one = save_checkpoint(folder.path(), small_checkpoint(1));
  const fs::path two = save_checkpoint(folder.path(), small_checkpoint(2));
  fs::copy_file(two / "model.safetensors", one / "model.safetensors", fs::copy_options::overwrite_existing);
  expect_damaged(one);
  const CheckpointReport report = inspect_checkpoint(one);
  CHECK_THAT(report.problems.at(0), ContainsSubstring("'dense.weight'") || ContainsSubstring("'dense.bias'"));
  CHECK(report.files[1].tensors[0].good == true);
}

TEST_CASE("a manifest with a sound checksum may still be nonsense") {
  const Manifest sound{small_checkpoint(1).state, {{"model.safetensors", {}}, {"optimizer.safetensors", {}}}};
  const std::string text = manifest_text(sound);
  CHECK((parse_manifest(text, "it").state == sound.state));
  // The text with another body, and the checksum that fits.
  const auto forged = [&](const std::string& from, const std::string& to) {
    std::string body = text.substr(0, text.rfind(",\n"));
    REQUIRE(body.find(from) != std::string::npos);
    body.replace(body.find(from), from.size(), to);
    return body + ",\n  \"xxh3_128\": \"" + checksum_of(body) + "\"\n}\n";
  };
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    INFO(to);
    CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { parse_manifest(forged(from, to), "it"); }),
               ContainsSubstring("it") && ContainsSubstring(why));
  };
  CHECK_NOTHROW(
      parse_manifest(forged("\"run\"", "\"unknown\": 1, \"run\""), "it"));  // a later version's field
  refused("dtrain checkpoint", "another", "is not the manifest");
  refused("\"version\": 2", "\"version\": 3", "is of version 3 of the format, and this dtrain reads 2");
  refused("\"step\": 1", "\"step\": -1", "missing or malformed");
  refused("\"step\": 1", "\"step\": 1.5", "missing or malformed");
  refused("\"step\": 1", "\"stop\": 1", "missing or malformed");
  refused("\"step\": 1", "\"step\": 1, \"step\": 2", "'step' twice");
  refused("model.safetensors", "other.safetensors", "missing or malformed");
  refused("\"metrics\": {", "\"metrics\": {\"other\": \"low\", ", "missing or malformed");
  refused("\"schedule\": {", "\"schedule\": {\"a\": [[[[[[[1]]]]]]], ", "nests deeper");
  refused("{\n", "{ nonsense", "not JSON");
}

TEST_CASE("a metric of a plug-in that is not a finite number is saved as one that is none") {
  TrainingState state = small_checkpoint(1).state;
  const double infinity = std::numeric_limits<double>::infinity();
  state.pass_sums = {{"loss", 0.5}, {"examples", 1}, {"margin", std::nan("")}, {"gap", -2}};
  state.window_sums = {{"loss", 0.5}, {"examples", 1}, {"margin", infinity}, {"gap", -2}};
  const std::string text = manifest_text({state, {{"model.safetensors", {}}, {"optimizer.safetensors", {}}}});
  const TrainingState read = parse_manifest(text, "it").state;
  for (const auto& sums : {read.pass_sums, read.window_sums}) {
    CHECK(std::isnan(sums.at("margin")));
    CHECK(sums.at("gap") == -2);
    CHECK(sums.size() == 4);
  }
}

TEST_CASE("numbers that no training comes to are refused, written or read") {
  TrainingState sound = small_checkpoint(25).state;
  sound.learning_rate = 0.1;
  const std::map<std::string, FileChecksums> files = {{"model.safetensors", {}},
                                                      {"optimizer.safetensors", {}}};
  const auto refused = [&](const std::string& why, const auto& change) {
    INFO(why);
    TrainingState state = sound;
    change(state);
    CHECK_THAT(failure_of(ExitCode::kBug, [&] { manifest_text({state, files}); }), ContainsSubstring(why));
    CHECK_THAT(problem_of(state), ContainsSubstring(why));
  };
  constexpr int64_t kHuge = int64_t{1} << 62;
  refused("replicas is 1000000000,", [](TrainingState& state) { state.replicas = 1'000'000'000; });
  refused("replicas is 0,", [](TrainingState& state) { state.replicas = 0; });
  refused("epoch is 4611686018427387904,", [](TrainingState& state) { state.epoch = kHuge; });
  refused("train_examples is 4611686018427387904,",
          [](TrainingState& state) { state.train_examples = kHuge; });
  refused("train_examples is 0,", [](TrainingState& state) { state.train_examples = 0; });
  refused("global_batch is 0,", [](TrainingState& state) { state.global_batch = 0; });
  refused("position is 4611686018427387904, not from 0 to 639",
          [](TrainingState& state) { state.position = kHuge; });
  refused("position is 640, not from 0 to 639", [](TrainingState& state) { state.position = 640; });
  refused("position is 321, within a global batch", [](TrainingState& state) { ++state.position; });
  refused("step is 26, not from 25 to 25", [](TrainingState& state) { ++state.step; });
  refused("step is 24, not from 25 to 25", [](TrainingState& state) { --state.step; });
  refused("run is neither", [](TrainingState& state) { state.run = "overhead"; });
  refused("learning_rate", [](TrainingState& state) { state.learning_rate = -1; });
  refused("learning_rate", [](TrainingState& state) { state.learning_rate = std::nan(""); });
  using Sums = std::map<std::string, double>;
  const auto pass = [&](const Sums& sums) {
    refused("pass_sums", [&](TrainingState& state) { state.pass_sums = sums; });
  };
  pass({{"loss", 0.5}, {"correct", 2}, {"examples", 1}});
  pass({{"loss", std::nan("")}, {"correct", 1}, {"examples", 1}});
  pass({{"loss", 0.5}, {"correct", 1}});
  pass({{"loss", 0.5}, {"correct", 0}, {"examples", 1e15}});
  refused("window_sums", [](TrainingState& state) {
    state.window_sums = {{"loss", 0.5}, {"correct", -1}, {"examples", 1}};
  });

  // An epoch of 10 steps, or of 9 where the remainder was dropped.
  sound.train_examples = 639;
  for (const int64_t step : {23, 24, 25}) {
    sound.step = step;
    CHECK(problem_of(sound).empty());
  }
  refused("step is 22, not from 23 to 25", [](TrainingState& state) { state.step = 22; });

  // The same from a file, whose checksum proves nothing.
  std::string body = manifest_text({small_checkpoint(25).state, files});
  body = body.substr(0, body.rfind(",\n"));
  body.replace(body.find("\"position\": 320"), 15, "\"position\": 4611686018427387904");
  const std::string forged = body + ",\n  \"xxh3_128\": \"" + checksum_of(body) + "\"\n}\n";
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { parse_manifest(forged, "it"); }),
             ContainsSubstring("it: makes no sense: its position is 4611686018427387904"));
}

TEST_CASE("a checkpoint is plain files: links in it are refused, a link to it is not") {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), small_checkpoint(3));
  fs::create_directory_symlink(path, folder / "link");
  CHECK_NOTHROW(load_checkpoint(folder / "link"));
  for (const std::string& name : kFiles) {
    INFO(name);
    fs::rename(path / name, folder / name);
    fs::create_symlink(folder / name, path / name);
    expect_damaged(path);
    CHECK_THAT(inspect_checkpoint(path).problems.at(0), ContainsSubstring(name + ": is a symbolic link"));
    fs::rename(folder / name, path / name);
  }
  CHECK_NOTHROW(load_checkpoint(path));
}

TEST_CASE("a model's outline has its names, types and sizes, and no memory") {
  const TemporaryFolder folder;
  const fs::path path = save_checkpoint(folder.path(), small_checkpoint(3));
  const NamedTensors outline = outline_of_model(path), model = load_model(path);
  CHECK(same_tensors(model, small_checkpoint(3).model));
  REQUIRE(outline.size() == model.size());
  for (size_t i = 0; i < model.size(); ++i) {
    CHECK(outline[i].first == model[i].first);
    CHECK(outline[i].second.is_meta());
    CHECK(outline[i].second.sizes() == model[i].second.sizes());
    CHECK(outline[i].second.scalar_type() == model[i].second.scalar_type());
  }
  write_safetensors(folder / "other", {{"x", at::ones(1)}}, {});
  fs::rename(folder / "other", path / "model.safetensors");
  failure_of(ExitCode::kCheckpoint, [&] { outline_of_model(path); });
}

// In time that grows with the square of the number it would take a minute.
TEST_CASE("very many tensors are saved and loaded") {
  const TemporaryFolder folder;
  constexpr int64_t kTensors = kSanitized ? 15'000 : 150'000;
  Checkpoint checkpoint = small_checkpoint(3);
  checkpoint.model.clear();
  for (int64_t i = 0; i < kTensors;
       ++i)  // one by one: threads of OpenMP would not survive other tests' forks
    checkpoint.model.emplace_back(fmt::format("layer{}.bias", i), at::scalar_tensor(i, at::kFloat));
  const Checkpoint loaded = load_checkpoint(save_checkpoint(folder.path(), checkpoint));
  CHECK(same_tensors(loaded.model, checkpoint.model));
}

TEST_CASE("the latest good one is taken, with a line for each that is not") {
  const TemporaryFolder folder;
  for (const int64_t step : {10, 20, 30}) save_checkpoint(folder.path(), small_checkpoint(step));
  std::vector<std::string> warnings;
  const auto latest = [&] {
    warnings.clear();
    return latest_good_checkpoint(folder.path(), [&](const std::string& line) { warnings.push_back(line); });
  };
  CHECK(latest() == folder / "step-000000030");
  CHECK(warnings.empty());
  write_file(folder / "step-000000030/optimizer.safetensors", "");
  fs::create_directory(folder / "step-000000040");
  CHECK(latest() == folder / "step-000000020");
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0],
             ContainsSubstring("step-000000040 is not used") && ContainsSubstring("manifest.json"));
  CHECK_THAT(warnings[1], ContainsSubstring("step-000000030 is not used") && ContainsSubstring("cut off"));
  for (const char* name : {"step-000000020", "step-000000010"}) fs::remove(folder / name / "manifest.json");
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, latest),
             ContainsSubstring("none of the 4 checkpoints is good"));
  CHECK(warnings.size() == 4);
}

TEST_CASE("one that its run removes while it is looked for is passed over for the newer one") {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), small_checkpoint(20));
  int warnings = 0;
  const fs::path latest = latest_good_checkpoint(
      folder.path(), [&](const std::string&) { ++warnings; },
      [&](const SavedCheckpoint& listed) {
        if (listed.step == 20) {
          fs::remove_all(listed.path);
          save_checkpoint(folder.path(), small_checkpoint(30));
        }
        return true;
      });
  CHECK(latest == folder / "step-000000030");
  CHECK(warnings == 0);
}

TEST_CASE("a suspect one is taken only where there is no other, and that is said") {
  const TemporaryFolder folder;
  Checkpoint suspect = small_checkpoint(30);
  suspect.state.suspicion = "the largest weight is 1e+37";
  const fs::path path = save_checkpoint(folder.path(), suspect);
  CHECK(path == folder / "step-000000030.suspect");
  CHECK(load_checkpoint(path).state.suspicion == suspect.state.suspicion);
  std::vector<std::string> warnings;
  const auto latest = [&] {
    warnings.clear();
    return latest_good_checkpoint(folder.path(), [&](const std::string& line) { warnings.push_back(line); });
  };
  CHECK(latest() == path);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("may be corrupt and is used, as there is no better one"));
  save_checkpoint(folder.path(), small_checkpoint(20));
  CHECK(latest() == folder / "step-000000020");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("step-000000030.suspect may be corrupt and is not used"));
  save_checkpoint(folder.path(), small_checkpoint(40));
  CHECK(latest() == folder / "step-000000040");
  CHECK(warnings.empty());
}

TEST_CASE("where there is no checkpoint, that is said") {
  const TemporaryFolder folder;
  fs::create_directory(folder / ".step-000000001.new-1");  // of a process that was killed
  const auto ignore = [](const std::string&) { FAIL_CHECK("warned"); };
  for (const fs::path& path : {folder.path(), folder / "none"}) {
    CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { latest_good_checkpoint(path, ignore); }),
               ContainsSubstring("there is no checkpoint"));
  }
  write_file(folder / "file", "");
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { latest_good_checkpoint(folder / "file", ignore); }),
             ContainsSubstring("Not a directory"));
}

// Files of this process cannot grow over `bytes` while it lives: what a full disk does, on any file system.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    leave_write_errors_to_writers();
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("a full disk is an error with advice, wherever it fills, and leaves the others as they were") {
  const TemporaryFolder folder;
  const fs::path good = save_checkpoint(folder.path(), small_checkpoint(1));
  const auto largest = static_cast<rlim_t>(fs::file_size(good / "manifest.json"));
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{5}, rlim_t{600}, largest - 1}) {
    for (const int64_t step : {1, 2}) {  // the same step again, and a new one
      INFO("at " << bytes << " bytes, step " << step);
      const std::string message = [&] {
        const SmallDisk disk(bytes);
        return failure_of(ExitCode::kDisk, [&] { save_checkpoint(folder.path(), small_checkpoint(step)); });
      }();
      CHECK_THAT(message, ContainsSubstring("File too large; `ulimit -f`") &&
                              ContainsSubstring("older checkpoints are unchanged"));
      CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000001"});
      expect_same(load_checkpoint(good), small_checkpoint(1));
    }
  }
}

TEST_CASE("a place that cannot be written is an error that names it") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { save_checkpoint(folder / "file", small_checkpoint(1)); }),
             ContainsSubstring("file/") && ContainsSubstring("Not a directory"));
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { save_checkpoint(folder / "no/such", small_checkpoint(1)); }),
             ContainsSubstring("no/such: cannot make the folder"));
  write_file(folder / "step-000000001", "");  // a file where the checkpoint goes
  failure_of(ExitCode::kUsage, [&] { save_checkpoint(folder.path(), small_checkpoint(1)); });
  CHECK(names_in(folder.path()) == std::vector<std::string>{"file", "step-000000001"});
  const OrdinaryUser user(folder.path());
  if (!user.exists()) return;
  fs::create_directory(folder / "locked");
  ::chmod((folder / "locked").c_str(), 0500);
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { save_checkpoint(folder / "locked", small_checkpoint(1)); }),
             ContainsSubstring("Permission denied") && ContainsSubstring("--run-dir"));
}

}  // namespace
}  // namespace dtrain
