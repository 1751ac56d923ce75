#include "pictures/archives.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "images/cache_file.h"
#include "pictures/parquet_pictures.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kUnpackedAtOnce = size_t{1} << 20;
constexpr size_t kLookedAt = size_t{1} << 12;  // bytes, which say whether a file is packed
// Pictures are packed already: what unpacks to much more fills disks. The larger of these is written at most.
constexpr int64_t kMostRatio = 100;
constexpr int64_t kNeverTooMuch = int64_t{256} << 20;  // bytes
constexpr int64_t kParquetFormat = 1;  // another number for another archive of the same Parquet file
constexpr size_t kMostOfName = 100;    // bytes of the archive's, for `dtrain cache`

// The bytes of a packed file, unpacked, from its begin to its end.
class UnpackingReader {
 public:
  UnpackingReader(const fs::path& path, size_t at_once)
      : path_(path),
        archive_(::archive_read_new(), ::archive_read_free),
        file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!archive_) throw std::bad_alloc();
    if (file_.get() < 0) fail_on_file(path, "cannot be read", errno);
    // One by one: "all" would also start other programs.
    ::archive_read_support_filter_gzip(archive_.get());
    ::archive_read_support_filter_bzip2(archive_.get());
    ::archive_read_support_filter_xz(archive_.get());
    ::archive_read_support_filter_zstd(archive_.get());
    ::archive_read_support_filter_lz4(archive_.get());
    ::archive_read_support_format_raw(archive_.get());
    ::archive_read_support_format_empty(archive_.get());
    archive_entry* entry = nullptr;
    if (::archive_read_open_fd(archive_.get(), file_.get(), at_once) != ARCHIVE_OK) fail();
    const int begun = ::archive_read_next_header(archive_.get(), &entry);
    if (begun != ARCHIVE_OK && begun != ARCHIVE_EOF) fail();
  }

  bool is_packed() const { return ::archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_NONE; }

  // The next bytes, into memory of `size` bytes; 0: these were all.
  size_t read(char* bytes, size_t size) {
    const la_ssize_t count = ::archive_read_data(archive_.get(), bytes, size);
    if (count < 0) fail();
    return static_cast<size_t>(count);
  }

 private:
  [[noreturn]] void fail() const {
    const char* const text = ::archive_error_string(archive_.get());
    refuse_file(path_, "cannot be unpacked: {}", printable(text ? text : "cut off"));
  }

  const fs::path& path_;
  std::unique_ptr<archive, decltype(&::archive_read_free)> archive_;
  const Descriptor file_;
};

void unpack(const fs::path& path, int64_t packed, const OpenFile& file, const DataSpec& spec,
            int64_t before) {
  CheckedFileWriter writer(file);
  int64_t written = 0;
  const auto write = [&](std::string_view bytes) {
    written += std::ssize(bytes);
    if (static_cast<double>(before + written) > spec.cache_gigabytes * 1e9)
      throw Error(ExitCode::kUsage,
                  "data.cache_gigabytes: {} unpacks to more than the limit of {:g} GB{}; raise it",
                  printable(path.string(), 1000), spec.cache_gigabytes,
                  before == 0 ? "" : fmt::format(", with the {} of those before it", human_bytes(before)));
    if (written > std::max(kNeverTooMuch, packed * kMostRatio))
      refuse_file(
          path,
          "unpacks to over {} times its size, which pictures do not; if it is in order, unpack it yourself",
          kMostRatio);
    writer.write(bytes.data(), bytes.size());
  };
  if (spec.dataset == kImageParquet) {
    write_pictures_as_tar(path, spec, write);
  } else {
    UnpackingReader reader(path, kUnpackedAtOnce);
    const std::unique_ptr<char[]> bytes(new char[kUnpackedAtOnce]);
    while (const size_t count = reader.read(bytes.get(), kUnpackedAtOnce)) write({bytes.get(), count});
  }
  writer.close();
}

// Of the archive's name, size and times of change, and of the columns that are read.
std::string key_of_archive(const fs::path& archive, const struct stat& status, const DataSpec& spec) {
  const std::string name = fs::absolute(archive).lexically_normal().string();
  Checksum sum(name.c_str(), name.size() + 1);
  for (const int64_t number :
       {int64_t{status.st_size}, int64_t{status.st_mtim.tv_sec}, int64_t{status.st_mtim.tv_nsec},
        int64_t{status.st_ctim.tv_sec}, int64_t{status.st_ctim.tv_nsec}})
    sum.add(&number, sizeof number);
  for (const auto* names : {&spec.target, &spec.ignore}) {
    for (const std::string& column : *names) sum.add(column.c_str(), column.size() + 1);
    if (spec.dataset == kImageParquet) sum.add("", 1);
  }
  if (spec.dataset == kImageParquet) sum.add(&kParquetFormat, sizeof kParquetFormat);
  return sum.text();
}

}  // namespace

std::string unpacked_name(const std::string& name) {
  if (name.ends_with(".tgz")) return name.substr(0, name.size() - 3) + "tar";
  for (const std::string packing : {".gz", ".bz2", ".xz", ".zst", ".lz4"}) {
    if (name.ends_with(".tar" + packing)) return name.substr(0, name.size() - packing.size());
  }
  return name;
}

bool is_packed(const fs::path& archive) { return UnpackingReader(archive, kLookedAt).is_packed(); }

std::shared_ptr<const CheckedFile> unpacked_archive(const fs::path& archive, const DataSpec& spec,
                                                    int64_t before) {
  struct stat status {};
  if (::stat(archive.c_str(), &status) != 0)
    throw Error(file_failure_code(errno, ExitCode::kData), "{}: {}", printable(archive.string(), 1000),
                std::strerror(errno));
  const std::string name = archive.filename().string().substr(0, kMostOfName);
  const fs::path path =
      cache_folder() / fmt::format("{}.{}{}", key_of_archive(archive, status, spec), name, kUnpackedArchive);
  std::shared_ptr<const CheckedFile> unpacked;
  const auto is_there = [&] { return (unpacked = CheckedFile::open(path)) != nullptr; };
  if (is_there()) return unpacked;
  if (std::error_code none; fs::exists(path, none)) warn_of_damage(path);
  require_cache_room(status.st_size, spec.cache_gigabytes,
                     fmt::format("{} has to be unpacked", printable(archive.string(), 1000)),
                     "or unpack it yourself");
  make_cache_file(path, is_there,
                  [&](const OpenFile& file) { unpack(archive, status.st_size, file, spec, before); });
  if (!unpacked && !is_there()) fail_on_cache(path, "cannot be read", EIO);
  return unpacked;
}

}  // namespace dtrain
