#include "pictures/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "addresses/streamed_files.h"
#include "core/addresses.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "pictures/archives.h"
#include "pictures/shards.h"
#include "transport/file_names.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostIndexBytes = int64_t{4} << 30;
constexpr int kIndexFormat = 1;

bool is_plain_text(const std::string& text) {
  size_t at = 0;
  return !text.empty() && is_clean_text(text, at) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void require_sound(bool holds) {
  if (!holds) throw Error(ExitCode::kData, "a value that cannot be");
}

int64_t number_of(const json& value) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : -1;
  require_sound(number >= 0 && number < kMost);
  return number;
}

json as_json(const IndexedShard& shard) {
  json pictures = json::array();
  for (const IndexedPicture& one : shard.pictures)
    pictures.push_back({one.member, one.offset, one.bytes, one.class_word, one.checksum});
  return {{"name", shard.name},
          {"bytes", shard.bytes},
          {"checksum", shard.checksum},
          {"pictures", std::move(pictures)},
          {"left_out", shard.left_out}};
}

IndexedShard shard_of(const json& line) {
  IndexedShard shard{.name = line.at("name").get<std::string>(),
                     .bytes = number_of(line.at("bytes")),
                     .checksum = line.at("checksum").get<std::string>(),
                     .pictures = {},
                     .left_out = {}};
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

// The names of an archive that lies in a folder below the index have a hyphen for the slash.
std::string name_of_copy(std::string name) {
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

// In addresses of http, what would end the path or is decoded.
std::string in_address(const std::string& folder, const std::string& name) {
  if (is_in_store(folder)) return folder + name;
  std::string encoded;
  for (const char c : name)
    encoded += std::string_view("%?#").find(c) == std::string_view::npos
                   ? std::string(1, c)
                   : fmt::format("%{:02X}", static_cast<unsigned>(c));
  return folder + encoded;
}

// Where the index of an address is, and what the address names; nothing: all that is in the index.
struct NamedFiles {
  std::string folder;
  std::vector<RemoteFile> files;
};

NamedFiles named_files(const std::string& address) {
  const std::string fault = fault_of_address(address);
  if (!fault.empty()) throw Error(ExitCode::kUsage, "{}", "the address " + fault);
  NamedFiles named;
  for (const std::string& one : expanded_address(address))
    named.files.push_back({.address = one, .name = {}, .version = {}});
  const std::string first = named.files.front().address, path = path_of_address(first);
  const bool is_folder = named.files.size() == 1 && (path.empty() || path.ends_with('/'));
  const size_t below = is_folder ? path.size() : common_folder(named.files);
  const std::string plain = is_in_store(first) ? first : first.substr(0, first.find('?'));
  named.folder = plain.substr(0, plain.size() - (path.size() - below));
  if (!named.folder.ends_with('/')) named.folder += '/';
  if (is_folder)
    named.files.clear();
  else
    name_files(address, below, named.files);
  return named;
}

ShardIndex read_index(const std::string& address) {
  RemoteFiles remote;
  std::string text;
  try {
    const RemoteFile file = remote.find(address, {}).front();
    remote.read(file, 0, -1, [&](int64_t offset, const char* bytes, size_t count) {
      const size_t end = static_cast<size_t>(offset) + count;
      if (static_cast<int64_t>(end) > kMostIndexBytes) refuse_file(address, "is too large for an index");
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

std::shared_ptr<const StreamedShards> open_streamed(const std::string& address) {
  const NamedFiles named = named_files(address);
  auto streamed = std::make_shared<StreamedShards>();
  streamed->folder = named.folder;
  ShardIndex all = read_index(named.folder + kShardsIndex);
  std::map<std::string, size_t> at;  // by the name of a copy: in all.shards
  for (size_t i = 0; i < all.shards.size(); ++i) {
    if (!at.emplace(name_of_copy(all.shards[i].name), i).second)
      refuse_file(streamed->folder / kShardsIndex, "two of its archives would have the name {}",
                  printable(name_of_copy(all.shards[i].name)));
  }
  std::map<std::string, std::string> checksums, addresses;
  for (const auto& [name, place] : at) {
    if (named.files.empty()) addresses[name] = in_address(named.folder, all.shards[place].name);
  }
  for (const RemoteFile& file : named.files) addresses[file.name] = file.address;
  if (all.note && (named.files.empty() || addresses.erase(kShardsNote) > 0)) {
    streamed->index.note = all.note;
    checksums[kShardsNote] = checksum_of(*all.note);
  }
  std::vector<StreamedFile> files;
  for (const auto& [name, place] : addresses) {
    if (!at.contains(name))
      throw Error(ExitCode::kData,
                  "{}: is not in {}{}, the index of data.stream; make it again (`dtrain data pack`)",
                  shown_address(place), shown_address(named.folder), kShardsIndex);
    IndexedShard shard = std::move(all.shards[at[name]]);
    shard.name = name;
    checksums[name] = shard.checksum;
    StreamedFile file{.address = place, .bytes = shard.bytes, .content = shard.checksum, .parts = {}};
    for (const IndexedPicture& one : shard.pictures)
      file.parts.push_back({one.offset, one.bytes, one.checksum});
    files.push_back(std::move(file));
    streamed->index.shards.push_back(std::move(shard));
  }
  streamed->bytes = stream_files(std::move(files));
  Checksum content;
  for (const auto& [name, checksum] : checksums) {
    const std::string line = name + "\n" + checksum + "\n";
    content.add(line.data(), line.size());
  }
  streamed->content = content.text();
  return streamed;
}

}  // namespace

void write_shard_index(const fs::path& file, const ShardIndex& index) {
  json head = {{"dtrain_shards", kIndexFormat}, {"shards", index.shards.size()}};
  if (index.note) head["note"] = *index.note;
  std::string text = head.dump() + "\n";
  for (const IndexedShard& shard : index.shards) text += as_json(shard).dump() + "\n";
  write_file_atomically(file, text);
}

ShardIndex parse_shard_index(const std::string& text, const std::string& title) {
  ShardIndex index;
  std::istringstream lines(text);
  std::string line;
  size_t number = 0, shards = 0;
  try {
    while (std::getline(lines, line)) {
      ++number;
      const json one = json::parse(line);
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
  // Never destroyed: its threads use libraries that are gone when objects like this one are.
  static auto* const known = new std::map<std::string, std::shared_ptr<const StreamedShards>>;
  const std::lock_guard lock(mutex);
  auto& streamed = (*known)[address];
  if (!streamed) streamed = open_streamed(address);
  return streamed;
}

}  // namespace dtrain
