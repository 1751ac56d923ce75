#include "features/feature_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "images/cache_file.h"

namespace dtrain {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FeatureBlock, key, bytes, shape, examples, source)

namespace {

namespace fs = std::filesystem;

constexpr int kFileFormat = 1;
constexpr int64_t kHeaderBytes = 4096;            // JSON, then zeros; the features follow, aligned to a page
constexpr int64_t kPartBytes = int64_t{1} << 26;  // a disk takes a second or two for so much
constexpr const char* kSuffix = ".features";

// What a file says of itself. The checksum is of the bytes after the header.
std::string header_of(const FeatureBlock& block, const std::string& checksum) {
  nlohmann::json header = block;
  header["format"] = kFileFormat;
  header["checksum"] = checksum;
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (std::ssize(text) >= kHeaderBytes) {  // an endless path
    header["source"] = "examples";
    text = header.dump();
  }
  text.resize(static_cast<size_t>(kHeaderBytes), '\0');
  return text;
}

struct Header {
  FeatureBlock block;
  std::string checksum;
};

// nullopt: the file is none, or was cut.
std::optional<Header> read_header(const OpenFile& file) {
  std::string text(static_cast<size_t>(kHeaderBytes), '\0');
  if (!file.is_open() || !file.read(0, text.data(), text.size())) return std::nullopt;
  const auto json = nlohmann::json::parse(text.c_str(), nullptr, /*allow_exceptions=*/false);
  Header header;
  try {
    if (json.at("format").get<int>() != kFileFormat) return std::nullopt;
    json.get_to(header.block);
    json.at("checksum").get_to(header.checksum);
  } catch (const nlohmann::json::exception&) {  // another program's
    return std::nullopt;
  }
  struct stat status {};
  const bool whole = ::fstat(file.descriptor(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_size == kHeaderBytes + header.block.bytes;
  return whole ? std::optional(header) : std::nullopt;
}

// Calls `each` with the offset and the size of every part.
template <class Each>
bool for_each_part(int64_t bytes, const Each& each) {
  for (int64_t offset = 0; offset < bytes; offset += kPartBytes) {
    if (!each(offset, std::min(kPartBytes, bytes - offset))) return false;
  }
  return true;
}

void write_block(const OpenFile& file, const FeatureBlock& block, const std::byte* memory,
                 const AfterPart& after_part) {
  file.check(::lseek(file.descriptor(), kHeaderBytes, SEEK_SET) == kHeaderBytes, "cannot be written");
  Checksum sum;
  for_each_part(block.bytes, [&](int64_t offset, int64_t bytes) {
    sum.add(memory + offset, static_cast<size_t>(bytes));
    file.check(write_all(file.descriptor(), memory + offset, static_cast<size_t>(bytes)) &&
                   ::fdatasync(file.descriptor()) == 0,
               "cannot be written");
    after_part();
    return true;
  });
  const std::string header = header_of(block, sum.text());
  file.check(::lseek(file.descriptor(), 0, SEEK_SET) == 0 &&
                 write_all(file.descriptor(), header.data(), header.size()),
             "cannot be written");
}

// Calls `found` with every file of features.
template <class Found>
void find_features(const Found& found) {
  std::error_code code;
  for (const fs::path& path : paths_in(cache_folder(), code)) {
    if (path.extension() == kSuffix) found(path);
  }
  if (code && code != std::errc::no_such_file_or_directory)
    fail_on_cache(cache_folder(), "cannot be read", code.value());
}

// Makes room for `bytes` more among the files of features. What was read last has the newest time.
void remove_oldest(int64_t bytes, double most_gigabytes) {
  struct Aged {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes;
  };
  std::vector<Aged> files;
  double all = static_cast<double>(bytes);
  find_features([&](const fs::path& path) {
    std::error_code gone;
    const fs::file_time_type used = fs::last_write_time(path, gone);
    const auto size = static_cast<int64_t>(fs::file_size(path, gone));
    if (gone) return;
    files.push_back({path, used, size});
    all += static_cast<double>(size);
  });
  std::ranges::sort(files, {}, &Aged::used);
  for (const Aged& file : files) {
    if (all <= most_gigabytes * 1e9) return;
    ::unlink(file.path.c_str());
    all -= static_cast<double>(file.bytes);
  }
}

}  // namespace

fs::path feature_path(const std::string& key) { return cache_folder() / (key + kSuffix); }

int64_t feature_file_parts(int64_t bytes) { return (bytes + kPartBytes - 1) / kPartBytes; }

bool read_features(const FeatureBlock& block, std::byte* memory, const AfterPart& after_part) {
  const OpenFile file(feature_path(block.key), O_RDONLY);
  const std::optional<Header> header = read_header(file);
  if (!header || header->block.key != block.key || header->block.bytes != block.bytes) return false;
  Checksum sum;
  const bool whole = for_each_part(block.bytes, [&](int64_t offset, int64_t bytes) {
    if (!file.read(kHeaderBytes + offset, memory + offset, static_cast<size_t>(bytes))) return false;
    sum.add(memory + offset, static_cast<size_t>(bytes));
    after_part();
    return true;
  });
  if (!whole || sum.text() != header->checksum) return false;
  ::futimens(file.descriptor(), nullptr);  // it is the one used last; a disk that is read-only does without
  return true;
}

bool write_features(const FeatureBlock& block, const std::byte* memory, double most_gigabytes,
                    const AfterPart& after_part) {
  const int64_t bytes = kHeaderBytes + block.bytes;
  const std::string need = "the features take " + human_bytes(bytes),
                    instead = "or use cache_features: memory";
  require_cache_limit(bytes, most_gigabytes, need, instead);
  remove_oldest(bytes, most_gigabytes);
  require_cache_room(bytes, most_gigabytes, need, instead);
  return try_make_cache_file(feature_path(block.key),
                             [&](const OpenFile& file) { write_block(file, block, memory, after_part); });
}

std::vector<KeptFeatures> list_features() {
  std::vector<KeptFeatures> all;
  find_features([&all](const fs::path& path) {
    std::error_code gone;
    KeptFeatures kept{path, static_cast<int64_t>(fs::file_size(path, gone)), {}};
    if (gone) return;
    try {
      if (const std::optional<Header> header = read_header(OpenFile(path, O_RDONLY)))
        kept.block = header->block;
    } catch (const Error&) {  // not this user's
    }
    all.push_back(kept);
  });
  std::ranges::sort(all, {}, &KeptFeatures::file);
  return all;
}

void remove_features(const KeptFeatures& kept) {
  if (::unlink(kept.file.c_str()) != 0 && errno != ENOENT)
    fail_on_cache(kept.file, "cannot be removed", errno);
}

}  // namespace dtrain
