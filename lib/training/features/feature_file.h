// Features in files of this user's cache, for later runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace dtrain {

// Features as they lie in memory, and what is known of them.
struct FeatureBlock {
  std::string key;             // feature_key()
  int64_t bytes = 0;           // without the file's header
  int64_t examples = 0;        // of all parts of the data
  std::vector<int64_t> shape;  // of one example's features
  std::string source;          // where the examples are from, for people
};

// Where the features with this key are or will be. Throws Error(kUsage) if there is no place for a cache.
std::filesystem::path feature_path(const std::string& key);

// Reading and writing take at most this many parts; `after_part` is called after each.
int64_t feature_file_parts(int64_t bytes);
using AfterPart = std::function<void()>;

// Reads the features into `memory`, which has room for block.bytes. Returns false, with anything in the
// memory, if there is no such file, or if it is damaged: cut, of another key, or with another checksum than
// it was written with. What is read is in this process's memory, so nothing that happens to the file later
// matters. Throws what OpenFile and `after_part` throw.
bool read_features(const FeatureBlock& block, std::byte* memory, const AfterPart& after_part);

// Writes the file, whole or not at all; a damaged one is replaced. Before, removes the least recently used
// files of features until all together take no more than `most_gigabytes`. Returns false if another process
// is writing the file. Throws Error(kUsage) if it is larger than that, Error(kDisk) if the disk is full or
// fails, and what `after_part` throws.
bool write_features(const FeatureBlock& block, const std::byte* memory, double most_gigabytes,
                    const AfterPart& after_part);

// A file of features in the cache.
struct KeptFeatures {
  std::filesystem::path file;
  int64_t bytes = 0;
  FeatureBlock block;  // without a source: damaged
};

// By name; empty if there is no cache. Unfinished ones are among list_image_caches().
std::vector<KeptFeatures> list_features();

// Removes a file. No process needs it any more once it has begun to train.
void remove_features(const KeptFeatures& kept);

}  // namespace dtrain
