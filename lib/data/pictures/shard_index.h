// What is in the archives of a folder, in a file beside them: so archives elsewhere need not be read to list
// their pictures, or as a whole to train on them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "images/archive_bytes.h"
#include "pictures/picture_list.h"

namespace dtrain {

inline constexpr const char* kShardsIndex = "shards.index";

struct IndexedPicture {
  std::string member;
  int64_t offset = 0;  // in its archive, ascending
  int64_t bytes = 0;
  std::string class_word;  // of its .cls
  uint64_t checksum = 0;   // checksum_number() of its bytes
};

struct IndexedShard {
  std::string name;  // with its folder below that of the index
  int64_t bytes = 0;
  std::string checksum;  // of the whole archive
  std::vector<IndexedPicture> pictures = {};
  EndingCounts left_out = {};  // of examples without a picture
};

struct ShardIndex {
  std::optional<std::string> note;  // the text of shards.json, if it is there
  std::vector<IndexedShard> shards;
};

// As lines of JSON: of the whole, then of each archive.
void write_shard_index(const std::filesystem::path& file, const ShardIndex& index);

// The reverse. Throws Error(kData) that names `title` and the line for what write_shard_index() would not
// write: the text is untrusted.
ShardIndex parse_shard_index(const std::string& text, const std::string& title);

// The archives that an address names, as its index describes them: with the names that copies would have.
struct StreamedShards {
  std::filesystem::path folder;                            // the address of the index without its name
  ShardIndex index;                                        // with the note if the address names it, too
  std::vector<std::shared_ptr<const ArchiveBytes>> bytes;  // of each archive
  std::string content;                                     // as FetchedFiles has it for copies
};

// Reads the index in the folder that the address names, or that holds all archives it names. Later calls in
// one process return the same. Throws as RemoteFiles does; Error(kData) if an archive is missing.
std::shared_ptr<const StreamedShards> streamed_shards(const std::string& address);

}  // namespace dtrain
