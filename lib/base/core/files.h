// Reading and writing whole files with size limits, private folders, and mapping failures to exit codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace dtrain {

// The exit code for a system call on a file or folder that failed with `error` (errno). kDisk if the disk is
// full or faulty (ENOSPC, EDQUOT, EFBIG, EIO, ...), which may be temporary; otherwise `refused`, for an error
// that someone has to fix first.
ExitCode file_failure_code(int error, ExitCode refused = ExitCode::kUsage);

// The exit code for a failed write to standard output: kUsage if the reader is gone, otherwise kDisk.
ExitCode output_failure_code();

// Advice for a file that cannot be written because of `error` (errno), after "; ", or "" without advice.
// `option` is the command's option that names another place, if it has one.
std::string advice_on_writing(int error, const std::string& option = "");

// Throws Error(kUsage, kDisk) with this advice because of `error`: "PATH: cannot write: ...".
[[noreturn]] void fail_to_write(const std::filesystem::path& path, const char* what, int error,
                                const std::string& option = "");

// Writes all `count` bytes. Returns false, with errno set, if that fails.
bool write_all(int descriptor, const void* bytes, size_t count);

// Reads `count` bytes of a file from `offset`. Returns how many were read: fewer where the file ends before;
// -1, with errno set, if that fails.
int64_t read_all(int descriptor, int64_t offset, void* bytes, size_t count);

// All bytes of an open file, as far as they can be read.
std::string content_of(int descriptor);

// Returns the file's bytes, up to the size that it has when it is opened. Throws Error(code) if the file
// cannot be read, is not a regular file, or is larger than `limit` bytes, and Error(kDisk) if the disk fails.
// The size is checked before memory is allocated.
std::string read_file(const std::filesystem::path& path, int64_t limit, ExitCode code);

// Returns `bytes` bytes of a regular file, from `offset`. Throws as read_file(), also if it ends before.
std::string read_file_part(const std::filesystem::path& path, int64_t offset, int64_t bytes, ExitCode code);

// The same as read_file() for what a user names as input: `path` may also be a pipe, or "-" for the standard
// input. Messages call it `name`; where it is missing, they name a file beside it that is spelled alike.
// Waits until the pipe's writer is done.
std::string read_input(const std::filesystem::path& path, const std::string& name, int64_t limit,
                       ExitCode code);

// What is in a folder, sorted by name. If it cannot be read to the end, what was read, with `fault`.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& fault);

// Throws Error(kUsage) if `path` exists: "... is there already: --overwrite replaces it, OTHERWISE".
void require_absent(const std::filesystem::path& path, const std::string& otherwise);

// Throws Error(kUsage) if `path` is a device, a pipe or a socket, or leads to one.
void require_replaceable(const std::filesystem::path& path);

// Throws Error(code) if `from`, which a user has named, is not a folder. The message names up to three
// folders beside it whose names begin like its name or are close to it, the last by name first; else
// `advice`.
void require_folder(const std::filesystem::path& from, ExitCode code, const std::string& advice = "");

// Writes to a new file beside `path` and renames it, so that a reader sees either the old content or the new.
// No two writers use the same new file. Throws Error(kUsage, kDisk) with advice, and leaves no new file then.
// A link is replaced, and not what it points to. A device, or a link to one, is refused.
void write_file_atomically(const std::filesystem::path& path, const std::string& content,
                           const std::string& option = "");
// The same, also after a power failure: waits until the new content is on the disk.
void write_file_durably(const std::filesystem::path& path, const std::string& content,
                        const std::string& option = "");
// As write_file_atomically(), for a file that a user has named: a link stays, and the file that it points to
// is replaced, or made.
void write_output(const std::filesystem::path& path, const std::string& content,
                  const std::string& option = "");

// A private folder for files that are only needed if something fails.
class ScratchFolder {
 public:
  // Makes the folder PREFIX-XXXXXX where temporary files go ($TMPDIR, else /tmp), for this user alone. Throws
  // Error(kUsage, kDisk) if it cannot.
  explicit ScratchFolder(const std::string& prefix);
  // Removes the folder with what is in it, unless keep() was called.
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&&) = delete;  // nor copied

  void keep() { kept_ = true; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace dtrain
