#include "images/image_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "host/host_memory.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestNote = 100;  // bytes of a file that tells where images are

// The same in all processes that see each other in /proc, and only there: hosts may share a cache.
std::string place_name() {
  Checksum sum;
  std::error_code none;
  for (const std::string& part : {machine_id(), fs::read_symlink("/proc/self/ns/pid", none).string()})
    sum.add(part.c_str(), part.size() + 1);
  return sum.text();
}

std::string memory_name(const std::string& key) { return "dtrain-pictures-" + key; }

// What a file that tells where images are says; empty if there is none.
std::string read_note(const fs::path& note) {
  try {
    return read_file(note, kLongestNote, ExitCode::kData);
  } catch (const Error&) {
    return "";
  }
}

OpenFile make_memory(const ImageSet& set, const std::string& key, const ImageCacheOptions& options) {
  OpenFile file(memory_name(key),
                Descriptor(::memfd_create(memory_name(key).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  file.check(file.is_open(), "cannot be made");
  write_image_block(file, set, options);
  file.check(
      ::fcntl(file.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0,
      "cannot be sealed");
  return file;
}

void require_room(const ImageSet& set, double most_gigabytes) {
  const int64_t bytes = image_block_bytes(std::ssize(set.files), set.bytes_of_one());
  const std::string instead = "use a smaller data.image.size, or data.cache: disk";
  require_cache_limit(bytes, most_gigabytes, need_of_images(set), instead);
  if (static_cast<double>(bytes) > kMostOfMemory * static_cast<double>(memory_for_all()))
    throw Error(ExitCode::kUsage,
                fmt::format("data.cache: memory: {}, which is too much for the {} of this host; {}",
                            need_of_images(set), human_bytes(memory_for_all()), instead));
}

// The images that this process keeps for others.
class KeptImages {
 public:
  KeptImages(fs::path note, OpenFile file) : note_(std::move(note)), file_(std::move(file)) {}
  ~KeptImages() {
    if (read_note(note_) == place()) ::unlink(note_.c_str());
  }
  KeptImages(const KeptImages&) = delete;
  KeptImages& operator=(const KeptImages&) = delete;

  std::string place() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.descriptor()); }
  const fs::path& note() const { return note_; }

 private:
  const fs::path note_;
  const OpenFile file_;
};

}  // namespace

std::optional<OpenFile> find_image_memory(const fs::path& note) {
  const std::string name = memory_name(note.stem().string());
  const std::string place = read_note(note);  // /proc/PID/fd/NUMBER
  std::array<char, 300> target{};
  if (!place.starts_with("/proc/") || ::readlink(place.c_str(), target.data(), target.size() - 1) < 0)
    return std::nullopt;
  // Another process may have that number now.
  if (target.data() != "/memfd:" + name + " (deleted)") return std::nullopt;
  OpenFile file(name, Descriptor(::open(place.c_str(), O_RDONLY | O_CLOEXEC)));
  if (!file.is_open()) return std::nullopt;
  return file;
}

at::Tensor images_in_memory(const ImageSet& set, const ImageCacheOptions& options) {
  static std::mutex one_at_a_time;
  static std::unique_ptr<KeptImages> kept;
  const std::lock_guard lock(one_at_a_time);
  const std::string key = image_block_key(set) + "." + place_name();
  const fs::path note = cache_folder() / (key + kNoteOfMemory);
  std::optional<OpenFile> found;
  const auto is_there = [&] { return (found = find_image_memory(note)).has_value(); };
  if (is_there()) return ImageBlock(*found, set).images();
  if (kept && kept->note() != note) kept.reset();  // before the next ones take memory
  require_room(set, options.most_gigabytes);
  make_cache_folder();
  make_cache_file(note, is_there, [&](const OpenFile& file) {
    OpenFile memory = make_memory(set, key, options);
    found.emplace(memory_name(key), Descriptor(::fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 0)));
    kept = std::make_unique<KeptImages>(note, std::move(memory));
    const std::string place = kept->place();
    file.check(write_all(file.descriptor(), place.data(), place.size()), "cannot be written");
  });
  return ImageBlock(*found, set).images();
}

}  // namespace dtrain
