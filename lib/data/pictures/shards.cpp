#include "pictures/shards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/data_errors.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "pictures/archives.h"
#include "pictures/shard_index.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOutOption = "--out";
constexpr int64_t kMostShards = 1'000'000;  // in a part: their names have six digits
constexpr int64_t kEndOfTar = 2 * kTarBlock;

struct Part {
  const char* name;
  std::vector<int64_t> PictureList::*pictures;
};
constexpr Part kParts[] = {
    {"train", &PictureList::train}, {"validation", &PictureList::validation}, {"test", &PictureList::test}};

int64_t in_blocks(int64_t bytes) { return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock; }

// Writes the archives of a part, one after the other.
class ShardWriter {
 public:
  ShardWriter(fs::path folder, int64_t shard_bytes) : folder_(std::move(folder)), most_(shard_bytes) {
    make_folder(folder_);
  }

  void add(const std::string& members) {
    if (file_.get() >= 0 && bytes_ + std::ssize(members) + kEndOfTar > most_) close();
    if (file_.get() < 0) open();
    write(members);
  }

  void close() {
    if (file_.get() < 0) return;
    write(std::string(kEndOfTar, '\0'));
    all_bytes_ += bytes_;
    if (::fsync(file_.get()) != 0) fail_to_write(path_, "cannot write", errno, kOutOption);
    file_.reset();
  }

  int64_t shards() const { return shards_; }
  int64_t bytes() const { return all_bytes_; }

  static void make_folder(const fs::path& path) {
    std::error_code code;
    fs::create_directory(path, code);
    if (code) fail_to_write(path, "cannot make the folder", code.value(), kOutOption);
  }

 private:
  void open() {
    path_ = folder_ / fmt::format("shard-{:06d}.tar", shards_++);
    bytes_ = 0;
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file_.get() < 0) fail_to_write(path_, "cannot write", errno, kOutOption);
  }
  void write(const std::string& bytes) {
    if (!write_all(file_.get(), bytes.data(), bytes.size()))
      fail_to_write(path_, "cannot write", errno, kOutOption);
    bytes_ += std::ssize(bytes);
  }

  const fs::path folder_;
  const int64_t most_;
  fs::path path_;  // of the archive that is being written
  Descriptor file_;
  int64_t bytes_ = 0;
  int64_t shards_ = 0, all_bytes_ = 0;
};

// Where the folder is that `given` names: "shards/" is "shards", and a link is what it leads to.
fs::path target_of(const fs::path& given) {
  const fs::path normal = fs::absolute(given).lexically_normal();
  const fs::path out = normal.has_filename() ? normal : normal.parent_path();
  std::error_code none;
  return fs::exists(out, none) ? fs::canonical(out) : out;
}

// A disk that is mounted at a folder cannot be replaced by another folder.
void require_renameable(const fs::path& folder) {
  struct statx status {};
  if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_BASIC_STATS, &status) == 0 &&
      (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    throw Error(ExitCode::kUsage, "{}: a disk is mounted there; name a folder in it with --out",
                printable(folder.string(), 1000));
}

// The first file in a folder that write_shards() has not put there; empty: there is none.
fs::path stranger_in(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path name = entry.path().lexically_relative(folder);
    const bool is_part = std::any_of(std::begin(kParts), std::end(kParts), [&](const Part& part) {
      return name == part.name || (name.parent_path() == part.name && name.extension() == ".tar");
    });
    if (!is_part && name != kShardsNote && name != kShardsIndex) return entry.path();
  }
  return {};
}

void require_replaceable(const fs::path& out, const fs::path& pictures, bool overwrite) {
  std::error_code none;
  require_renameable(out);
  if (!fs::exists(fs::symlink_status(out, none)) || (fs::is_directory(out, none) && fs::is_empty(out, none)))
    return;
  if (!overwrite || !fs::is_directory(out, none)) require_absent(out, "--out names another folder");
  const fs::path below = fs::weakly_canonical(pictures).lexically_relative(fs::weakly_canonical(out));
  if (!below.empty() && *below.begin() != "..")
    throw Error(ExitCode::kUsage, "{}: the pictures to pack are there; choose another folder with --out",
                printable(out.string(), 1000));
  const fs::path stranger = stranger_in(out);
  if (!fs::exists(out / kShardsNote) || !stranger.empty())
    throw Error(
        ExitCode::kUsage,
        "{}: has files that dtrain data pack did not write ({}), and is not replaced; choose another "
        "folder with --out",
        printable(out.string(), 1000),
        stranger.empty() ? fmt::format("no {}", kShardsNote) : printable(stranger.filename().string()));
}

int64_t bytes_of_file(const PictureList& all, const ImageFile& file) {
  if (!file.member.empty()) return file.bytes;
  std::error_code none;  // reading it will say so
  const uintmax_t bytes = fs::file_size(all.root / file.path, none);
  return none ? 0 : static_cast<int64_t>(bytes);
}

// For archives of all pictures together, and for the names of the archives.
void require_room(const PictureList& all, const fs::path& folder, int64_t shard_bytes) {
  int64_t bytes = 0;
  for (const Part& part : kParts) {
    int64_t shards = 0, last = shard_bytes;  // bytes of the last archive, as ShardWriter fills it
    for (const int64_t index : all.*part.pictures) {
      const ImageFile& file = all.pictures[static_cast<size_t>(index)].file;
      const int64_t members = 3 * kTarBlock + in_blocks(bytes_of_file(all, file));
      bytes += members;
      last += members;
      if (last + kEndOfTar > shard_bytes) ++shards, last = members;
    }
    if (shards > kMostShards)
      throw Error(ExitCode::kUsage,
                  "the pictures of {} would be {} archives, more than {}: choose larger ones with "
                  "--shard-size",
                  part.name, with_separators(shards), with_separators(kMostShards));
  }
  std::error_code code;
  const fs::space_info space = fs::space(folder, code);
  if (!code && space.available < static_cast<uintmax_t>(bytes))
    throw Error(ExitCode::kDisk,
                "{}: the archives take {}, and the disk has {} left; make room, or choose another folder "
                "with --out",
                printable(folder.string(), 1000), human_bytes(bytes),
                human_bytes(static_cast<int64_t>(space.available)));
}

// A folder beside the one that it becomes; removed unless it did. Then the one that it replaces is removed.
class NewFolder {
 public:
  explicit NewFolder(fs::path becomes) : becomes_(std::move(becomes)) {
    std::string name = becomes_.string() + ".partial-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      fail_to_write(becomes_, "cannot make the folder", errno, kOutOption);
    path_ = name;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::chmod(path_.c_str(), 0777 & ~mask);  // mkdtemp() makes it for this user alone
  }
  ~NewFolder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  NewFolder(NewFolder&&) = delete;  // nor copied

  const fs::path& path() const { return path_; }

  // Where the file system can exchange two names, there is a whole folder under the name at any time.
  void rename() {
    const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (::syncfs(folder.get()) != 0) fail_to_write(path_, "cannot write", errno, kOutOption);
    std::error_code code, none;
    const bool replaces = fs::exists(becomes_ / kShardsNote, none);
    if (!replaces || ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, becomes_.c_str(), RENAME_EXCHANGE) != 0) {
      const fs::path before = path_.string() + "-replaced";
      if (replaces) fs::rename(becomes_, before, code);
      if (!code) fs::rename(path_, becomes_, code);
      if (code && replaces) fs::rename(before, becomes_, none);
      if (code) fail_to_write(becomes_, "cannot rename", code.value(), kOutOption);
      path_ = before;
    }
    ::syncfs(folder.get());  // before the old folder, which path_ names now, is removed
  }

 private:
  const fs::path becomes_;
  fs::path path_;
};

// Of WebDataset: what comes before the first dot is the key.
std::string members_of(const PictureList& all, int64_t index, int64_t number) {
  const ListedPicture& picture = all.pictures[static_cast<size_t>(index)];
  const std::string key = fmt::format("{:08d}", number);
  const std::string& name = picture.file.member.empty() ? picture.file.path : picture.file.member;
  return tar_member(key + ending_of(name), read_image_bytes(all.root, picture.file)) +
         tar_member(key + ".cls", std::to_string(picture.label));
}

}  // namespace

// As POSIX.1-1988 has them ("ustar").
std::string tar_member(const std::string& name, std::string_view content) {
  std::string header(kTarBlock, '\0');
  const auto put = [&header](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");  // owner
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", content.size()));
  put(136, "00000000000");  // seconds since 1970
  put(148, "        ");     // the checksum, for its own sum
  put(156, "0");            // a regular file
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(148, fmt::format("{:06o}", sum) + std::string(1, '\0') + " ");
  const size_t gap = static_cast<size_t>(in_blocks(std::ssize(content))) - content.size();
  return header.append(content).append(gap, '\0');
}

std::vector<std::string> classes_of_note(const fs::path& path, const std::string& text) {
  const json note = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto classes = note.is_object() ? note.find("classes") : note.end();
  if (classes == note.end() || !classes->is_array() || classes->size() > kMostPictureClasses)
    refuse_file(path, "is no note of dtrain data pack: it has no list of \"classes\"");
  std::vector<std::string> names;
  for (const json& name : *classes) {
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    if (!is_plain_text(text)) refuse_file(path, "the name of a class is no text without control characters");
    names.push_back(text);
  }
  return names;
}

std::optional<std::vector<std::string>> classes_of_shards(const fs::path& folder) {
  const fs::path path = folder / kShardsNote;
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  return classes_of_note(path, read_file(path, kMostNoteBytes, ExitCode::kData));
}

std::vector<WrittenPart> write_shards(const PictureList& all, const ShardOptions& options,
                                      const std::function<void(int64_t done, int64_t all)>& on_progress) {
  const int stops = stop_signals_received();
  const fs::path out = target_of(options.out);
  require_replaceable(out, all.root, options.overwrite);
  std::error_code code;
  const fs::path parent = out.parent_path();
  fs::create_directories(parent, code);
  if (code) fail_to_write(parent, "cannot make the folder", code.value(), kOutOption);
  require_room(all, parent, options.shard_bytes);
  NewFolder folder(out);
  const int64_t count = std::ssize(all.train) + std::ssize(all.validation) + std::ssize(all.test);
  int64_t done = 0;
  std::vector<WrittenPart> written;
  for (const Part& part : kParts) {
    if ((all.*part.pictures).empty()) continue;
    ShardWriter writer(folder.path() / part.name, options.shard_bytes);
    int64_t number = 0;
    for (const int64_t index : all.*part.pictures) {
      writer.add(members_of(all, index, number++));
      if (on_progress) on_progress(++done, count);
      if (stop_signals_received() != stops)
        throw Error(ExitCode::kStopped, "{}: stopped by {}; nothing is left there",
                    printable(out.string(), 1000), signal_name(last_stop_signal()));
    }
    writer.close();
    written.push_back({part.name, number, writer.shards(), writer.bytes()});
  }
  const json note = {{"classes", all.classes}, {"order", "mixed"}};
  write_file_atomically(folder.path() / kShardsNote, note.dump(2) + "\n", kOutOption);
  index_archives(folder.path());
  folder.rename();
  return written;
}

}  // namespace dtrain
