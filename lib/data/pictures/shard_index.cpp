#include "pictures/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "addresses/fetched_files.h"
#include "addresses/streamed_files.h"
#include "core/addresses.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "pictures/archives.h"
#include "pictures/shards.h"
#include "transport/remote_files.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostIndexBytes = int64_t{512} << 20;
constexpr int kIndexFormat = 1;

void require_sound(bool holds) {
  if (!holds) throw Error(ExitCode::kData, "a value that cannot be");
}

int64_t number_of(const json& value) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : -1;
  require_sound(number >= 0 && number < kMost);
  return number;
}

IndexedShard shard_of(const json& line) {
  IndexedShard shard{.name = line.at("name").get<std::string>(),
                     .bytes = number_of(line.at("bytes")),
                     .checksum = line.at("checksum").get<std::string>()};
  for (const auto& [ending, count] : line.at("left_out").items()) shard.left_out[ending] = number_of(count);
  require_sound(is_plain_text(shard.name) && is_archive_name(shard.name) && !shard.name.starts_with('/') &&
                ("/" + shard.name).find("/.") == std::string::npos && !shard.checksum.empty());
  int64_t end = 0;  // of the picture before
  for (const json& one : line.at("pictures")) {
    IndexedPicture picture{one.at(0).get<std::string>(), number_of(one.at(1)), number_of(one.at(2)),
                           one.at(3).get<std::string>(), one.at(4).get<uint64_t>()};
    require_sound(one.at(4).is_number_unsigned() && is_plain_text(picture.member) &&
                  is_picture_name(picture.member) && is_plain_text(picture.class_word) &&
                  picture.offset >= end && picture.bytes <= kMaxImageFileBytes &&
                  picture.offset <= shard.bytes - picture.bytes);
    end = picture.offset + picture.bytes;
    shard.pictures.push_back(std::move(picture));
  }
  require_sound(!shard.pictures.empty());
  return shard;
}

ShardIndex read_index(const std::string& address) {
  RemoteFiles remote;
  std::string text;
  try {
    const RemoteFile file = remote.find(address, {}).front();
    remote.read(file, 0, -1, [&](int64_t offset, const char* bytes, size_t count) {
      const size_t end = static_cast<size_t>(offset) + count;
      if (static_cast<int64_t>(end) > kMostIndexBytes)
        refuse_file(shown_address(address), "is over {}, which is too large for an index",
                    human_bytes(kMostIndexBytes));
      if (end > text.size()) text.resize(end);
      std::copy_n(bytes, count, text.begin() + static_cast<std::ptrdiff_t>(offset));
    });
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData) throw;
    throw Error(
        error.code(),
        "{}; data.stream needs this index: put what `dtrain data pack` writes beside the archives there, "
        "or leave data.stream out to fetch them as a whole",
        error.what());
  }
  return parse_shard_index(text, shown_address(address));
}

RemoteFile file_at(const std::string& address) {
  return {.address = address, .name = {}, .bytes = -1, .version = {}, .has_ranges = true};
}

// Those of the index that are among `files`, named.
std::shared_ptr<const StreamedShards> streamed_of(const std::string& folder,
                                                  const std::vector<RemoteFile>& files, ShardIndex& all) {
  std::map<std::string, IndexedShard*> shards;
  for (IndexedShard& shard : all.shards) shards[shard.name] = &shard;
  auto streamed = std::make_shared<StreamedShards>();
  streamed->folder = folder;
  std::map<std::string, std::string> checksums;
  std::vector<StreamedFile> readable;
  for (const RemoteFile& file : files) {
    if (file.name == kShardsNote && all.note) {
      streamed->index.note = all.note;
      checksums[file.name] = checksum_of(*all.note);
      continue;
    }
    if (!shards.contains(file.name))
      throw Error(ExitCode::kData,
                  "{}: is not in {}{}, the index of data.stream; make it again (`dtrain data pack`)",
                  file.shown(), shown_address(folder), kShardsIndex);
    IndexedShard& shard = *shards[file.name];
    checksums[file.name] = shard.checksum;
    readable.push_back(
        {.address = file.address, .bytes = shard.bytes, .content = shard.checksum, .parts = {}});
    for (const IndexedPicture& one : shard.pictures)
      readable.back().parts.push_back({one.offset, one.bytes, one.checksum});
    streamed->index.shards.push_back(std::move(shard));
  }
  streamed->bytes = stream_files(std::move(readable));
  streamed->content = content_of_files(checksums);
  return streamed;
}

std::shared_ptr<const StreamedShards> open_streamed(const std::string& address) {
  const std::string fault = fault_of_address(address);
  if (!fault.empty()) throw Error(ExitCode::kUsage, "{}", "the address " + fault);
  std::vector<RemoteFile> files;
  for (const std::string& one : expanded_address(address)) files.push_back(file_at(one));
  const std::string first = files.front().address, path = path_of_address(first);
  const bool is_folder = files.size() == 1 && (path.empty() || path.ends_with('/'));
  const size_t below = is_folder ? path.size() : common_folder(files);
  std::string folder = is_in_store(first) ? first : first.substr(0, first.find('?'));
  folder.resize(folder.size() - (path.size() - below));
  if (!folder.ends_with('/')) folder += '/';

  ShardIndex all = read_index(folder + kShardsIndex);
  for (IndexedShard& shard : all.shards) {
    if (is_folder)
      files.push_back(file_at(folder + (is_in_store(first) ? shard.name : uri_encoded(shard.name, true))));
    std::replace(shard.name.begin(), shard.name.end(), '/', '-');  // as copies are named
  }
  if (is_folder) files.erase(files.begin());
  if (is_folder && all.note) files.push_back(file_at(folder + kShardsNote));
  name_files(address, below, files);
  std::ranges::sort(files, {}, &RemoteFile::name);
  return streamed_of(folder, files, all);
}

}  // namespace

void write_shard_index(const fs::path& file, const ShardIndex& index) {
  json head = {{"dtrain_shards", kIndexFormat}, {"shards", index.shards.size()}};
  if (index.note) head["note"] = *index.note;
  std::string text = head.dump() + "\n";
  for (const IndexedShard& shard : index.shards) {
    json pictures = json::array();
    for (const IndexedPicture& one : shard.pictures)
      pictures.push_back({one.member, one.offset, one.bytes, one.class_word, one.checksum});
    const json line = {{"name", shard.name},
                       {"bytes", shard.bytes},
                       {"checksum", shard.checksum},
                       {"pictures", std::move(pictures)},
                       {"left_out", shard.left_out}};
    text += line.dump() + "\n";
  }
  if (std::ssize(text) > kMostIndexBytes)
    std::cerr << fmt::format(
                     "WARNING: {} is over {}, more than data.stream reads: pack into several folders\n",
                     kShardsIndex, human_bytes(kMostIndexBytes))
              << std::flush;
  write_file_atomically(file, text);
}

ShardIndex parse_shard_index(const std::string& text, const std::string& title) {
  ShardIndex index;
  std::string_view rest = text;
  size_t number = 0, shards = 0;
  try {
    while (!rest.empty()) {
      ++number;
      const size_t end = rest.find('\n');
      const json one = json::parse(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (number > 1) {
        index.shards.push_back(shard_of(one));
        continue;
      }
      require_sound(one.at("dtrain_shards").get<int>() == kIndexFormat);
      shards = one.at("shards").get<size_t>();
      if (one.contains("note")) index.note = one.at("note").get<std::string>();
    }
    require_sound(number > 0 && index.shards.size() == shards);
  } catch (const std::exception& error) {
    throw Error(ExitCode::kData, "{}: is no index of archives that this dtrain can read (line {}: {})", title,
                std::max<size_t>(number, 1), printable(error.what(), 200));
  }
  return index;
}

std::shared_ptr<const StreamedShards> streamed_shards(const std::string& address) {
  static std::mutex mutex;
  using Known = std::map<std::string, std::shared_ptr<const StreamedShards>>;
  // What it destroys ends threads that use libcurl and OpenSSL, so these begin before it and end after it.
  static Known known = [] {
    const RemoteFiles begun;
    return Known();
  }();
  const std::lock_guard lock(mutex);
  auto& streamed = known[address];
  if (!streamed) streamed = open_streamed(address);
  return streamed;
}

}  // namespace dtrain
