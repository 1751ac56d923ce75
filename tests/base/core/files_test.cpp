#include "core/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "catch.h"
#include "core/descriptor.h"
#include "files.h"
#include "ordinary_user.h"

namespace fs = std::filesystem;

namespace dtrain {
namespace {

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// The message of the error that read_file must throw, with its code.
std::string refusal(const fs::path& path, int64_t limit = 100) {
  try {
    read_file(path, limit, ExitCode::kData);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.what();
  }
  FAIL("read_file did not throw for " << path);
  return "";
}

std::string write_refusal(const fs::path& path, const std::string& content) {
  try {
    write_file_atomically(path, content);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  FAIL("write_file_atomically did not throw for " << path);
  return "";
}

TEST_CASE("a file is read as it is") {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file(folder / "file", bytes);
  CHECK(read_file(folder / "file", 100, ExitCode::kData) == bytes);
  write_file(folder / "empty", "");
  CHECK(read_file(folder / "empty", 100, ExitCode::kData).empty());
}

TEST_CASE("the limit is the largest size that is read") {
  const TemporaryFolder folder;
  write_file(folder / "file", std::string(100, 'x'));
  CHECK(read_file(folder / "file", 100, ExitCode::kData).size() == 100);
  CHECK(refusal(folder / "file", 99) == (folder / "file").string() + ": 100 B is over the limit of 99 B");
}

TEST_CASE("a huge file is refused before anything is allocated") {
  const TemporaryFolder folder;
  write_file(folder / "sparse", "");
  REQUIRE(::truncate((folder / "sparse").c_str(), off_t{1} << 40) == 0);
  CHECK_THAT(refusal(folder / "sparse"), ContainsSubstring("1.0 TiB is over the limit of 100 B"));
}

TEST_CASE("what is no regular file is refused at once") {
  const TemporaryFolder folder;
  CHECK_THAT(refusal(folder.path()), ContainsSubstring("a folder; name a file"));
  CHECK_THAT(refusal("/dev/zero"), ContainsSubstring("not a regular file"));
  // A pipe that nobody writes to: opening it must not wait.
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(refusal(folder / "pipe"), ContainsSubstring("not a regular file"));
}

TEST_CASE("a file that cannot be opened is named with the reason") {
  const TemporaryFolder folder;
  CHECK(refusal(folder / "missing") ==
        (folder / "missing").string() + ": cannot open: No such file or directory");
  CHECK_THAT(refusal(""), ContainsSubstring("No such file"));
  write_file(folder / "file", "x");
  CHECK_THAT(refusal(folder / "file/below"), ContainsSubstring("Not a directory"));
  fs::create_symlink("loop", folder / "loop");
  CHECK_THAT(refusal(folder / "loop"), ContainsSubstring("symbolic links"));
  CHECK_THAT(refusal(folder / std::string(5000, 'x')), ContainsSubstring("name too long"));
  const OrdinaryUser user(folder.path());
  if (!user.exists()) return;
  ::chmod(folder.write("secret", "x").c_str(), 0);
  CHECK_THAT(refusal(folder / "secret"), ContainsSubstring("Permission denied"));
}

TEST_CASE("a file that says it has no bytes is read as empty") {
  // Files of the kernel say 0 and go on as long as one reads; that would be no bound.
  CHECK(read_file("/proc/self/status", 100, ExitCode::kData).empty());
}

TEST_CASE("a link is followed") {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  fs::create_symlink("file", folder / "link");
  CHECK(read_file(folder / "link", 100, ExitCode::kData) == "x");
}

TEST_CASE("a folder is listed by name, hidden files too, and one that is not there is empty or a fault") {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a.txt", ".hidden"}) write_file(folder / name, "");
  fs::create_directory(folder / "folder");
  CHECK(paths_in(folder / "") ==
        std::vector<fs::path>{folder / ".hidden", folder / "a.txt", folder / "b", folder / "folder"});
  std::error_code fault;
  CHECK(paths_in(folder / "none", fault).empty());
  CHECK(fault == std::errc::no_such_file_or_directory);
  CHECK(paths_in(folder / "none").empty());
}

TEST_CASE("a file is written as a whole, and nothing beside it") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  CHECK(content_of(folder / "file") == "old");
  const std::string bytes("new\0", 4);
  write_file_atomically(folder / "file", bytes);
  CHECK(content_of(folder / "file") == bytes);
  write_file_atomically(folder / "file", "");
  CHECK(content_of(folder / "file").empty());
  write_file_durably(folder / "file", "for long");
  CHECK(content_of(folder / "file") == "for long");
  CHECK(names_in(folder.path()) == std::set<std::string>{"file"});
}

TEST_CASE("a reader that has the old file open keeps its content") {
  const TemporaryFolder folder;
  write_file(folder / "file", "old");
  std::ifstream reader(folder / "file");
  write_file_atomically(folder / "file", "new, and longer");
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old");
}

TEST_CASE("a failure to write names the file and leaves no temporary behind") {
  const TemporaryFolder folder;
  CHECK(write_refusal(folder / "missing/file", "x") ==
        (folder / "missing/file").string() + ": cannot create: No such file or directory");
  // Over a folder: everything was written, but the rename fails.
  fs::create_directories(folder / "taken/inside");
  CHECK_THAT(write_refusal(folder / "taken", "x"), ContainsSubstring("taken: cannot write: "));
  CHECK(names_in(folder.path()) == std::set<std::string>{"taken"});
}

TEST_CASE("no file takes the place of a device or a pipe") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", folder / "link");
  for (const char* const name : {"pipe", "link", "/proc/self/fd/1"})
    CHECK_THAT(write_refusal(folder / name, "x"), ContainsSubstring(": is a device, a pipe or a socket"));
  CHECK(fs::is_fifo(folder / "pipe"));
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"link", "pipe"});
}

TEST_CASE("a file that a user names is written to where its links lead, and they stay") {
  const TemporaryFolder folder;
  const Descriptor plain(::open((folder / "plain").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  CHECK_THROWS_WITH(write_output(fmt::format("/dev/fd/{}", plain.get()), "x"),
                    ContainsSubstring(": is a device, a pipe or a socket"));
  fs::create_symlink(fmt::format("/dev/fd/{}", plain.get()), folder / "descriptor");
  CHECK_THROWS_WITH(write_output(folder / "descriptor", "x"),
                    ContainsSubstring(": is a device, a pipe or a socket"));
  fs::remove(folder / "descriptor");
  CHECK(content_of(folder / "plain").empty());
  fs::create_directory(folder / "disk");
  fs::create_symlink("disk/page", folder / "to_disk");  // relative to the link, and at first to nothing
  fs::create_symlink(folder / "to_disk", folder / "link");
  for (const char* const content : {"old", "new"}) {
    write_output(folder / "link", content);
    CHECK(content_of(folder / "disk/page") == content);
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(fs::is_symlink(folder / "to_disk"));
  }
  CHECK(names_in(folder / "disk") == std::set<std::string>{"page"});
  fs::create_directory_symlink("disk", folder / "folder");
  CHECK_THROWS_AS(write_output(folder / "folder", "x"), Error);
  CHECK(fs::is_symlink(folder / "folder"));
  write_output(folder / "plain", "x");
  CHECK(content_of(folder / "plain") == "x");
  CHECK(names_in(folder.path()) == std::set<std::string>{"disk", "folder", "link", "plain", "to_disk"});
}

TEST_CASE("a full disk leaves the old content and no temporary") {
  const TemporaryFolder folder;
  write_file(folder / "file", "old");
  // The limit on a file's size stands for a disk without room; in a child, for it cannot be raised again.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10, 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file_atomically(folder / "file", std::string(1000, 'x'));
    } catch (const Error& error) {
      ::_exit(error.code() == ExitCode::kDisk ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content_of(folder / "file") == "old");
  CHECK(names_in(folder.path()) == std::set<std::string>{"file"});
}

TEST_CASE("a disk that is full or fails may be better later, anything else has to be put right") {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO, ESTALE})
    CHECK(file_failure_code(error, ExitCode::kData) == ExitCode::kDisk);
  for (const int error :
       {0, EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG, EMFILE}) {
    CHECK(file_failure_code(error) == ExitCode::kUsage);
    CHECK(file_failure_code(error, ExitCode::kData) == ExitCode::kData);
  }
}

TEST_CASE("a planted link in the temporary's place is not written through") {
  const TemporaryFolder folder;
  write_file(folder / "victim", "precious");
  write_file_atomically(folder / "file", "x");
  for (int next = 0; next < 1000; ++next)  // whichever name comes next
    fs::create_symlink("victim", folder / fmt::format("file.tmp{}-{}", ::getpid(), next));
  write_file_atomically(folder / "file", "y");
  CHECK(content_of(folder / "victim") == "precious");
  CHECK(content_of(folder / "file") == "y");
  CHECK_FALSE(fs::is_symlink(folder / "file"));
}

TEST_CASE("writers of one file at one time do not meet, and the last one stays") {
  const TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (char content = 'a'; content < 'e'; ++content)
    writers.emplace_back([&folder, content] {
      for (int i = 0; i < 100; ++i) write_file_atomically(folder / "file", std::string(10000, content));
    });
  for (std::thread& writer : writers) writer.join();
  const std::string content = content_of(folder / "file");
  CHECK(content == std::string(10000, content.at(0)));
  CHECK(names_in(folder.path()) == std::set<std::string>{"file"});
}

TEST_CASE("a write that fails says what helps") {
  CHECK(advice_on_writing(ENOSPC) == "; free some room there, or choose another place");
  CHECK(advice_on_writing(EDQUOT, "--out") == "; free some room there, or choose another place with --out");
  CHECK(advice_on_writing(EFBIG, "--out") ==
        "; `ulimit -f`, or the file system, limits how large a file may be");
  CHECK(advice_on_writing(EACCES, "--run-dir") == "; choose a place that you may write to with --run-dir");
  CHECK(advice_on_writing(ENOENT).empty());
}

}  // namespace
}  // namespace dtrain
