// Files of this user's cache, which are made once, whole or not at all, and shared by all processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/descriptor.h"

namespace dtrain {

// ${XDG_CACHE_HOME:-~/.cache}/dtrain/data. Throws Error(kUsage) if neither variable (HOME) is set.
std::filesystem::path cache_folder();

// Of files that are not whole yet, or were left behind by a process that was killed.
inline constexpr const char* kPartialCacheFile = ".partial";

// Of archives that were packed (pictures/packed_archive.cpp).
inline constexpr const char* kUnpackedArchive = ".unpacked";

// Of files that tell where memory is (images/shared_memory.h).
inline constexpr const char* kNoteOfMemory = ".memory";

// Throws what that errno of a file of the cache means, with what to do about it.
[[noreturn]] void fail_on_cache(const std::filesystem::path& path, const std::string& what, int error);

// Tells the user, on the standard error, that a file of the cache is damaged and is made anew.
void warn_of_damage(const std::filesystem::path& path);

// Removes a damaged file of the cache and throws Error(kDisk): the job may have used some of it.
[[noreturn]] void fail_on_damage(const std::filesystem::path& path);

// A file, as long as it is open.
class OpenFile {
 public:
  // `flags` of open(2). Links are not followed. Throws Error(kUsage) if it is no regular file, or if others
  // than this user and root own it or may write to it: they would decide what is trained on.
  OpenFile(const std::filesystem::path& path, int flags);
  // One that is open already; `name` is for messages.
  OpenFile(std::string name, Descriptor file) : path_(std::move(name)), file_(std::move(file)) {}

  bool is_open() const { return file_.get() >= 0; }
  int descriptor() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }
  // The following throw as fail_on_cache().
  void check(bool worked, const char* what) const;  // by errno
  int64_t size() const;
  bool read(int64_t offset, void* bytes, size_t count) const;  // false: the file does not have so many
  void reserve(int64_t bytes) const;                           // so that a full disk is found now
  // Bytes of the file in memory, until the last copy of the pointer is gone. `protection` of mmap(2); `begin`
  // is a multiple of the size of a page.
  std::shared_ptr<uint8_t> map(int64_t bytes, int protection, int64_t begin = 0) const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

// A file that is made if there is none, with these flags of open(2) besides. Throws as fail_on_cache().
OpenFile open_made(const std::filesystem::path& path, int more_flags = 0);

// Locks it by flock(2), which ends with the process that holds it. False: another has it (LOCK_NB).
bool try_lock(const OpenFile& file, int kind);

// Makes the folder if there is none.
void make_cache_folder();

// Throws Error(kUsage) that names data.cache_gigabytes if `bytes` are more than it allows. `need` tells in
// the message what takes them ("the 9 pictures take 1 GB decoded"), `instead` what else to do.
void require_cache_limit(int64_t bytes, double most_gigabytes, const std::string& need,
                         const std::string& instead);

// The same, and makes the folder, removes from it what processes that were killed left behind, and throws
// Error(kDisk) if the disk is too small.
void require_cache_room(int64_t bytes, double most_gigabytes, const std::string& need,
                        const std::string& instead);

// Makes the file `path` unless `is_there`. `make` writes into a file of another name, which is renamed then.
// If another process makes it meanwhile, waits for that, and soon says so on standard error; one that dies is
// no hindrance.
void make_cache_file(const std::filesystem::path& path, const std::function<bool()>& is_there,
                     const std::function<void(const OpenFile& file)>& make);

// The same to replace a file that is there. If another process makes it meanwhile, returns false at once.
bool try_make_cache_file(const std::filesystem::path& path,
                         const std::function<void(const OpenFile& file)>& make);

}  // namespace dtrain
