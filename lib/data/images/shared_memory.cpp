#include "images/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestNote = 100;  // bytes of a file that tells where memory is

// The same in all processes that see each other in /proc, and only there: hosts may share a cache.
std::string place_name() {
  Checksum sum;
  std::error_code none;
  for (const std::string& part : {machine_id(), fs::read_symlink("/proc/self/ns/pid", none).string()})
    sum.add(part.c_str(), part.size() + 1);
  return sum.text();
}

std::string memory_name(const std::string& key) { return "dtrain-data-" + key; }

// What a file that tells where memory is says; empty if there is none.
std::string read_note(const fs::path& note) {
  try {
    return read_file(note, kLongestNote, ExitCode::kData);
  } catch (const Error&) {
    return "";
  }
}

OpenFile make_memory(const std::string& key, const std::function<void(const OpenFile& memory)>& fill) {
  OpenFile file(memory_name(key),
                Descriptor(::memfd_create(memory_name(key).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  file.check(file.is_open(), "cannot be made");
  fill(file);
  file.check(
      ::fcntl(file.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0,
      "cannot be sealed");
  return file;
}

// The memory that this process keeps for others.
class KeptMemory {
 public:
  KeptMemory(fs::path note, OpenFile file) : note_(std::move(note)), file_(std::move(file)) {}
  ~KeptMemory() {
    if (read_note(note_) == place()) ::unlink(note_.c_str());
  }
  KeptMemory(KeptMemory&&) = delete;  // nor copied

  std::string place() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.descriptor()); }
  const fs::path& note() const { return note_; }

 private:
  const fs::path note_;
  const OpenFile file_;
};

}  // namespace

std::optional<OpenFile> find_shared_memory(const fs::path& note) {
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

OpenFile shared_memory(const std::string& key, const std::function<void(const OpenFile& memory)>& fill) {
  static std::mutex one_at_a_time;
  static std::unique_ptr<KeptMemory> kept;
  const std::lock_guard lock(one_at_a_time);
  const std::string name = key + "." + place_name();
  const fs::path note = cache_folder() / (name + kNoteOfMemory);
  std::optional<OpenFile> found;
  const auto is_there = [&] { return (found = find_shared_memory(note)).has_value(); };
  if (is_there()) return std::move(*found);
  if (kept && kept->note() != note) kept.reset();  // before the next one takes memory
  make_cache_folder();
  make_cache_file(note, is_there, [&](const OpenFile& file) {
    OpenFile memory = make_memory(name, fill);
    found.emplace(memory_name(name), Descriptor(::fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 0)));
    kept = std::make_unique<KeptMemory>(note, std::move(memory));
    const std::string place = kept->place();
    file.check(write_all(file.descriptor(), place.data(), place.size()), "cannot be written");
  });
  return std::move(*found);
}

}  // namespace dtrain
