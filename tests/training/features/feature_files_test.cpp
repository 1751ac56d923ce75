// Files of features: what is written is read, what was not used for longest makes room.

#include <chrono>
#include <cstdlib>

#include "catch.h"
#include "core/error.h"
#include "features/feature_file.h"
#include "files.h"
#include "images/cache_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// 100,000 bytes that the key decides.
struct Features {
  FeatureBlock block;
  std::vector<std::byte> bytes = std::vector<std::byte>(100'000);

  explicit Features(const std::string& key) {
    block = {.key = key, .bytes = 100'000, .examples = 5, .shape = {5'000}, .source = "here"};
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = std::byte(key[i % key.size()] + static_cast<char>(i / 7));
  }
  bool write(double most_gigabytes = 1) const {
    return write_features(block, bytes.data(), most_gigabytes, [] {});
  }
  bool read() const {
    std::vector<std::byte> memory(bytes.size());
    return read_features(block, memory.data(), [] {}) && memory == bytes;
  }
  fs::path path() const { return feature_path(block.key); }
  // As if it had been used so long ago.
  void age(int hours) const {
    fs::last_write_time(path(), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
};

// A cache that goes with the test.
struct OwnCache {
  TemporaryFolder folder;
  std::string before = std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "";
  OwnCache() { ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1); }
  ~OwnCache() {
    before.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
};

TEST_CASE("features are read as they were written, and only those of the key and size") {
  const OwnCache cache;
  const Features one("one");
  CHECK_FALSE(one.read());
  CHECK(list_features().empty());
  CHECK(one.write());
  CHECK(one.read());
  CHECK_FALSE(Features("two").read());
  fs::copy_file(one.path(), Features("two").path());
  CHECK_FALSE(Features("two").read());
  Features larger("one");
  larger.block.bytes = 99'999;
  CHECK_FALSE(larger.read());
  const std::vector<KeptFeatures> kept = list_features();
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].file == one.path());
  CHECK(kept[0].bytes == 104'096);
  CHECK(kept[0].block.examples == 5);
  CHECK(kept[0].block.shape == std::vector<int64_t>{5'000});
  CHECK(kept[0].block.source == "here");
  remove_features(kept[0]);
  CHECK_FALSE(one.read());
}

TEST_CASE("a damaged file of features is not read, and replaced by a write") {
  const OwnCache cache;
  const Features one("one");
  CHECK(one.write());
  const std::string whole = content_of(one.path());
  std::string changed = whole, other = whole;
  changed[whole.size() / 2] ^= 1;
  other.replace(other.find("\"key\":\"") + 7, 3, "two");
  REQUIRE(other != whole);
  for (const std::string& content : {changed, other, whole.substr(0, whole.size() - 1), whole.substr(0, 100),
                                     whole + "x", std::string()}) {
    write_file(one.path(), content);
    std::vector<std::byte> memory(one.bytes.size());
    CHECK_FALSE(read_features(one.block, memory.data(), [] {}));  // whatever it has left in memory
    CHECK(one.write());
    CHECK(content_of(one.path()) == whole);
    CHECK(one.read());
  }
}

TEST_CASE("features that were not used for longest make room for others") {
  const OwnCache cache;
  const double room_for_two = 2.5e-4;
  const Features one("one"), two("two"), three("three"), four("four");
  CHECK(one.write(room_for_two));
  CHECK(two.write(room_for_two));
  one.age(3);
  two.age(2);
  CHECK(one.read());  // which is a use
  CHECK(three.write(room_for_two));
  CHECK(one.read());
  CHECK_FALSE(two.read());
  CHECK(three.read());
  try {
    four.write(1e-4);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.what(), ContainsSubstring("data.cache_gigabytes: the features take 101.7 KiB"));
  }
  CHECK(one.read());  // nothing was removed for what cannot be kept
}

TEST_CASE("a process that is writing the same features is not waited for") {
  const OwnCache cache;
  const Features one("one");
  make_cache_folder();
  make_cache_file(
      one.path(), [] { return false; }, [&](const OpenFile&) { CHECK_FALSE(one.write()); });
  CHECK_FALSE(one.read());
  CHECK(one.write());
  CHECK(one.read());
}

TEST_CASE("features grow on the disk part by part") {
  const OwnCache cache;
  const int64_t part = int64_t{1} << 26, all = part + 1000;
  FeatureBlock block = Features("one").block;
  block.bytes = all;
  const std::vector<std::byte> memory(static_cast<size_t>(all));
  std::vector<int64_t> sizes;
  const auto look = [&] {
    sizes.push_back(static_cast<int64_t>(fs::file_size(feature_path(block.key).string() + ".partial")));
  };
  CHECK(write_features(block, memory.data(), 1, look));
  CHECK(sizes == std::vector<int64_t>{4096 + part, 4096 + all});
  CHECK(feature_file_parts(all) == 2);
}

TEST_CASE("a write of features that fails leaves nothing") {
  const OwnCache cache;
  const Features one("one");
  CHECK(one.write());
  const auto fail = [] { throw Error(ExitCode::kPeerLost, "gone"); };
  CHECK_THROWS_AS(write_features(Features("two").block, one.bytes.data(), 1, fail), Error);
  CHECK_FALSE(fs::exists(Features("two").path().string() + ".partial"));
  CHECK(list_features().size() == 1);
  CHECK(feature_file_parts(0) == 0);
  CHECK(feature_file_parts(1) == 1);
  int calls = 0;
  std::vector<std::byte> memory(one.bytes.size());
  CHECK(read_features(one.block, memory.data(), [&calls] { ++calls; }));
  CHECK(calls == 1);
}

}  // namespace
}  // namespace dtrain
