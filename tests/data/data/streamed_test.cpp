// Pictures of archives at an address that are read without copies.
#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "addresses/streamed_files.h"
#include "catch.h"
#include "codecs/image_file.h"
#include "data/dataset.h"
#include "data/picture_dataset.h"
#include "data/picture_files.h"
#include "files.h"
#include "http_server.h"
#include "images/image_set.h"
#include "loader/batches.h"
#include "pictures/archives.h"
#include "pictures/image_folder.h"
#include "pictures/shard_index.h"
#include "pictures/shards.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

// Sixty pictures, packed, and a server of them that does what `spoil` says.
struct ServedShards : Pictures {
  fs::path out = temporary.path() / "shards";
  std::function<std::optional<Answer>(const AskedFor&)> spoil;
  std::mutex mutex;  // for `spoil`, which is changed between uses
  std::unique_ptr<HttpServer> server;

  explicit ServedShards(int64_t shard_bytes = 8000) {
    write_three_classes();
    spec.split.test = 0.25;
    spec.split.validation = 0.25;
    write_shards(divided(list_image_folder(folder, spec), spec), {.out = out, .shard_bytes = shard_bytes});
    server = std::make_unique<HttpServer>([this](const AskedFor& request) {
      const std::lock_guard lock(mutex);
      if (spoil) {
        if (const auto answer = spoil(request)) return *answer;
      }
      const fs::path file = temporary.path() / request.path.substr(1);
      return fs::is_regular_file(file) ? part_of(content_of(file), request, "\"1\"") : Answer{.status = 404};
    });
  }
  DataSpec spec_at(const std::string& path, bool stream = true) const {
    DataSpec tar;
    tar.dataset = "tar";
    tar.path = path;
    tar.image = spec.image;
    tar.stream = stream;
    if (stream) tar.cache = "none";
    return tar;
  }
  std::string address() const { return server->address() + "/shards/"; }
  fs::path first_shard() const { return out / "train" / "shard-000000.tar"; }
  // Of requests for archives.
  std::vector<std::string> ranges() const {
    std::vector<std::string> all;
    for (const AskedFor& request : server->asked()) {
      if (request.path.ends_with(".tar")) all.push_back(request.path + request.header("range"));
    }
    return all;
  }
  std::string refusal(ExitCode code = ExitCode::kData) const {
    return error_of([&] { test::all_of(*load_dataset(spec_at(address()), 1).train); }, code);
  }
};

void check_same(const Dataset& one, const Dataset& other) {
  CHECK(one.info.class_names == other.info.class_names);
  CHECK(counts_of(one.info) == counts_of(other.info));
  CHECK(one.info.left_out == other.info.left_out);
  for (const auto part : {&Dataset::train, &Dataset::validation, &Dataset::test}) {
    REQUIRE(((one.*part) == nullptr) == ((other.*part) == nullptr));
    if (!(one.*part)) continue;
    const StoredExamples these = test::all_of(*(one.*part)), those = test::all_of(*(other.*part));
    CHECK(at::equal(these.inputs, those.inputs));
    CHECK(at::equal(these.targets, those.targets));
  }
}

TEST_CASE("streamed pictures are those of the local folder, each read once, and leave no file") {
  const ServedShards shards;
  const DataSpec spec = shards.spec_at(shards.address());
  const Dataset local = load_dataset(shards.spec_at(shards.out, false), 1);
  fs::remove_all(shards.temporary.path() / "cache");
  CHECK(resolve_cache(find_dataset(spec), [&] {
          DataSpec any = spec;
          any.cache = "auto";
          return any;
        }()) == "none");
  const Dataset streamed = load_dataset(spec, 1);
  CHECK(shards.ranges().empty());  // the index tells it all
  check_same(streamed, local);
  const std::vector<std::string> ranges = shards.ranges();
  CHECK(ranges.size() == 60);
  CHECK(std::set<std::string>(ranges.begin(), ranges.end()).size() == 60);
  CHECK_FALSE(fs::exists(shards.temporary.path() / "cache"));
  const int64_t first = 0;
  CHECK_THAT(title_of(streamed.train->names_of(std::span(&first, 1)).front()),
             ContainsSubstring("train-shard-000000.tar: 00000000.png"));
}

TEST_CASE("streaming archives that others have written is the same as copying them") {
  ServedShards shards(1 << 30);
  const fs::path flat = shards.temporary.path() / "flat";
  fs::create_directory(flat);
  for (const std::string part : {"train", "test"})
    fs::copy_file(shards.out / part / "shard-000000.tar", flat / (part + "-0.tar"));
  DataSpec here = shards.spec_at(flat, false);
  here.split.validation = 0.3;
  index_archives(flat);
  DataSpec there = shards.spec_at(shards.server->address() + "/flat/{train,test}-{0..0}.tar");
  there.split.validation = 0.3;
  DataSpec copied = there;
  copied.stream = false;
  const Dataset local = load_dataset(here, 1), streamed = load_dataset(there, 1),
                copies = load_dataset(copied, 1);
  check_same(streamed, local);
  check_same(streamed, copies);
  CHECK(streamed.info.content == copies.info.content);  // so a run may go on with the other
  CHECK(streamed.info.class_names == std::vector<std::string>{"0", "1", "2"});

  there.resolved_content = std::string(32, '0');
  CHECK_THAT(error_of([&] { load_dataset(there, 1); }),
             ContainsSubstring("its shards.index has changed since the job began"));
  DataSpec more = shards.spec_at(shards.server->address() + "/flat/{train-0,test-0,test-1}.tar");
  CHECK_THAT(
      error_of([&] { find_dataset(more); }),
      ContainsSubstring("/flat/test-1.tar: is not in " + shards.server->address() + "/flat/shards.index"));
}

TEST_CASE("streamed archives may have names with spaces and percent signs") {
  ServedShards shards(1 << 30);
  fs::create_directory(shards.temporary.path() / "odd");
  fs::copy_file(shards.first_shard(), shards.temporary.path() / "odd" / "a b%20.tar");
  index_archives(shards.temporary.path() / "odd");
  shards.spoil = [&](const AskedFor& request) -> std::optional<Answer> {
    if (request.path != "/odd/a%20b%2520.tar") return std::nullopt;
    return part_of(content_of(shards.temporary.path() / "odd" / "a b%20.tar"), request, "\"1\"");
  };
  DataSpec here = shards.spec_at(shards.temporary.path() / "odd", false);
  DataSpec there = shards.spec_at(shards.server->address() + "/odd/");
  here.split.test = there.split.test = 0.5;
  check_same(load_dataset(there, 1), load_dataset(here, 1));
}

TEST_CASE("what is still being fetched does not hold up the end, however long the server takes") {
  using Clock = std::chrono::steady_clock;
  std::atomic<int> asked = 0;
  std::atomic<bool> ends = false;
  HttpServer server([&](const AskedFor&) {
    ++asked;
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Answer{.status = 404};
  });
  std::vector<StreamedFile> files = {
      {.address = server.address() + "/a.tar",
       .bytes = 100,
       .content = "x",
       .parts = {{.offset = 0, .bytes = 10, .checksum = 0}, {.offset = 10, .bytes = 10, .checksum = 0}}}};
  auto streamed = stream_files(std::move(files));
  std::vector<std::shared_ptr<const void>> expected = {streamed[0]->expect(0, 10, true),
                                                       streamed[0]->expect(10, 10, true)};
  while (asked < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto begin = Clock::now();
  expected.clear();
  streamed.clear();
  CHECK(Clock::now() - begin < std::chrono::seconds(10));  // and not 30, after which silence is a fault
  ends = true;
}

// The pixels and classes of the shares that are left of an epoch.
std::vector<at::Tensor> shares_of(const Dataset& dataset, int64_t replicas, int64_t rank, int64_t first_step,
                                  bool mixes = false) {
  LoaderOptions options;
  options.plan.global = 6;
  options.plan.parts = replicas;
  options.plan.per_replica = 6 / replicas;
  options.own = {rank, rank + 1};
  options.seed = 7;
  options.prefetch = rank == 0 ? 2 : 0;
  options.format.normalisation = {{0.5}, {0.25}};
  if (mixes) options.augment = {AugmentSpec{.kind = "mixup"}};
  ShareLoader loader(dataset.train, options);
  std::vector<at::Tensor> all;
  for (int64_t epoch = 3; epoch < 5; ++epoch) {
    loader.start_epoch(epoch, epoch == 3 ? first_step : 0);
    while (const auto share = loader.next()) {
      for (const MicroBatch& part : share->micro_batches) {
        const Batch batch = part.assemble();
        all.push_back(batch.inputs.clone());
        all.push_back(batch.targets.clone());
      }
    }
  }
  return all;
}

TEST_CASE(
    "streamed batches are those of the local folder, at one and two replicas and from within an epoch") {
  const ServedShards shards;
  const Dataset local = load_dataset(shards.spec_at(shards.out, false), 1);
  const Dataset streamed = load_dataset(shards.spec_at(shards.address()), 1);
  for (const auto& [replicas, rank, first] : {std::tuple{1, 0, 0}, std::tuple{2, 0, 0}, std::tuple{2, 1, 0},
                                              std::tuple{2, 0, 3}, std::tuple{1, 0, 2}}) {
    for (const bool mixes : {false, true}) {
      const auto these = shares_of(streamed, replicas, rank, first, mixes),
                 those = shares_of(local, replicas, rank, first, mixes);
      REQUIRE(these.size() == those.size());
      REQUIRE(these.size() > 10);
      for (size_t i = 0; i < these.size(); ++i) CHECK(at::equal(these[i], those[i]));
    }
  }
  // Of an epoch that ends early, no picture of a later step is fetched.
  for (const int64_t prefetch : {0, 3}) {
    LoaderOptions options;
    options.plan.global = options.plan.per_replica = 4;
    options.prefetch = prefetch;
    const size_t before = shards.ranges().size();
    ShareLoader three(streamed.train, options);
    three.start_epoch(0, 1, 3);
    for (int64_t step = 1; step < 4; ++step) CHECK(three.next()->step == step);
    CHECK_FALSE(three.next());
    CHECK(shards.ranges().size() == before + 12);
  }
  // A share that nobody takes keeps no other from being fetched.
  ShareLoader left(streamed.train, [] {
    LoaderOptions options;
    options.plan.global = options.plan.per_replica = 4;
    options.prefetch = 3;
    return options;
  }());
  left.start_epoch(0);
  CHECK(left.next().has_value());
  left.start_epoch(1, 2);
  CHECK(left.next().has_value());
}

TEST_CASE("partners that another replica has are fetched ahead of their step, like the replica's own") {
  const ServedShards shards;
  const Dataset streamed = load_dataset(shards.spec_at(shards.address()), 1);
  LoaderOptions options;
  options.plan.global = 6;
  options.plan.parts = 2;
  options.plan.per_replica = 3;
  options.own = {1, 2};
  options.augment = {AugmentSpec{.kind = "mixup"}};
  const auto asked_by = [&](ShareLoader& loader, int64_t steps, int64_t taken) {
    const size_t before = shards.ranges().size();
    loader.start_epoch(0, 0, steps);
    for (int64_t step = 0; step < taken; ++step) CHECK(loader.next()->step == step);
    return shards.ranges().size() - before;
  };
  ShareLoader loader(streamed.train, options);
  const size_t first = asked_by(loader, 1, 1), both = asked_by(loader, 2, 2);
  REQUIRE(both > first + 3);  // the second step has partners of the other replica
  const size_t before = shards.ranges().size();
  asked_by(loader, 2, 1);
  for (int look = 0; look < 2000 && shards.ranges().size() < before + both; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(shards.ranges().size() == before + both);
}

TEST_CASE(
    "a picture that is read again within the look-ahead is fetched once, and kept no longer than that") {
  const ServedShards shards;
  const Dataset streamed = load_dataset(shards.spec_at(shards.address()), 1);
  const std::vector<int64_t> twice = {4, 4};
  const std::shared_ptr<const void> expected = streamed.train->expect(twice);
  for (const size_t asked : {1, 1, 2}) {
    read_rows(*streamed.train, {4, 5});
    CHECK(shards.ranges().size() == asked);
  }
  // Partners in other micro-batches.
  LoaderOptions options;
  options.plan.global = 12;
  options.plan.per_replica = 3;
  options.plan.accumulate_steps = 4;
  options.augment = {AugmentSpec{.kind = "mixup"}};
  const Dataset again = load_dataset(shards.spec_at(shards.address()), 1);
  for (const int64_t prefetch : {0, 1}) {
    options.prefetch = prefetch;
    const size_t before = shards.ranges().size();
    ShareLoader loader(again.train, options);
    loader.start_epoch(0, 0, 1);
    CHECK(loader.next()->micro_batches.size() == 4);
    CHECK(shards.ranges().size() == before + 12);
  }
}

TEST_CASE(
    "a server that fails now and then changes nothing, and one request is made again for each failure") {
  ServedShards shards;
  const Dataset local = load_dataset(shards.spec_at(shards.out, false), 1);
  std::map<std::string, int> asked;
  int spoilt = 0;
  shards.spoil = [&](const AskedFor& request) -> std::optional<Answer> {
    const std::string key = request.path + request.header("range");
    if (!request.path.ends_with(".tar") || asked[key]++ > 0 || asked.size() % 6 != 0) return std::nullopt;
    ++spoilt;
    if (asked.size() % 12 == 0) return Answer{.status = 503, .headers = {{"retry-after", "0"}}};
    Answer cut = part_of(content_of(shards.temporary.path() / request.path.substr(1)), request, "\"1\"");
    cut.cut_after = cut.body.size() / 2;
    return cut;
  };
  check_same(load_dataset(shards.spec_at(shards.address()), 1), local);
  CHECK(spoilt == 10);
  CHECK(shards.ranges().size() == 70);
}

TEST_CASE("an archive that has changed, is gone or cannot be read in parts ends the reading, by name") {
  SECTION("with other bytes") {
    const ServedShards shards;
    std::string bytes = content_of(shards.first_shard());
    bytes[600] = static_cast<char>(bytes[600] + 1);
    write_file(shards.first_shard(), bytes);
    CHECK_THAT(shards.refusal(), ContainsSubstring("shard-000000.tar") &&
                                     ContainsSubstring("it has other bytes than when its index was made"));
  }
  SECTION("of another size") {
    const ServedShards shards;
    write_file(shards.first_shard(), content_of(shards.first_shard()) + std::string(512, '\0'));
    CHECK_THAT(shards.refusal(), ContainsSubstring("train/shard-000000.tar: it has changed"));
  }
  SECTION("gone") {
    const ServedShards shards;
    fs::remove(shards.first_shard());
    CHECK_THAT(shards.refusal(), ContainsSubstring("train/shard-000000.tar: the server answers 404"));
  }
  SECTION("by a server without ranges") {
    ServedShards shards;
    shards.spoil = [&](const AskedFor& request) {
      return Answer{.body = content_of(shards.temporary.path() / request.path.substr(1))};
    };
    CHECK_THAT(shards.refusal(), ContainsSubstring("the server does not send the part that it is asked for; "
                                                   "data.stream needs a server that sends parts of files"));
  }
  SECTION("without an index") {
    const ServedShards shards;
    fs::remove(shards.out / kShardsIndex);
    CHECK_THAT(shards.refusal(),
               ContainsSubstring("/shards/shards.index: the server answers 404") &&
                   ContainsSubstring("put what `dtrain data pack` writes beside the archives"));
  }
  SECTION("after too many failures") {
    ServedShards shards;
    shards.spoil = [&](const AskedFor& request) -> std::optional<Answer> {
      if (!request.path.ends_with(".tar")) return std::nullopt;
      return Answer{.status = 503, .headers = {{"retry-after", "9999"}}};
    };
    CHECK_THAT(shards.refusal(ExitCode::kDisk), ContainsSubstring("the server answers 503"));
  }
}

TEST_CASE("an index that dtrain has not written so is refused, with its line") {
  const ServedShards shards;
  const std::string text = content_of(shards.out / kShardsIndex);
  const ShardIndex whole = parse_shard_index(text, "x");
  CHECK(whole.shards.size() > 4);
  CHECK(whole.note == content_of(shards.out / kShardsNote));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return error_of([&] { parse_shard_index(changed, "https://h/shards.index"); });
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"train/shard", "../shard"},
                                                        {"train/shard", "/shard"},
                                                        {"00000000.png", "0.txt"},
                                                        {"\"bytes\":", "\"bytes\":-"},
                                                        {",512,", ",1e300,"},
                                                        {",512,", ",512000000,"},
                                                        {"[[", "[[["}})
    CHECK_THAT(with(from, to), ContainsSubstring("https://h/shards.index: is no index of archives") &&
                                   ContainsSubstring("(line 2: "));
  for (const std::string& end :
       {text.substr(0, text.size() - 20), text.substr(0, text.rfind("\n{") + 1), std::string()})
    CHECK_THAT(error_of([&] { parse_shard_index(end, "x"); }), ContainsSubstring("x: is no index"));
}

TEST_CASE(
    "pictures that are streamed once can be kept decoded, and do not stand for those of other archives") {
  const ServedShards shards;
  DataSpec kept = shards.spec_at(shards.address());
  kept.cache = "disk";
  const Dataset local = load_dataset(shards.spec_at(shards.out, false), 1);
  check_same(load_dataset(kept, 1), local);
  const size_t asked = shards.ranges().size();
  CHECK(asked == 60);
  check_same(load_dataset(kept, 1), local);
  CHECK(shards.ranges().size() == asked);
}

}  // namespace
}  // namespace dtrain
