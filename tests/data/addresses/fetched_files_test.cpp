#include "addresses/fetched_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addresses/copies.h"
#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "http_server.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const HttpTimes kHasty{
    .connect_seconds = 5, .silent_seconds = 5, .first_wait = 0.01, .longest_wait = 2, .attempts = 3};
const IsWanted kEvery = [](const std::string&) { return true; };

// In a process of its own, as a later command: the same process does not ask twice. Returns the message of an
// error, or the content's checksum.
std::string fetch_elsewhere(const std::string& address, double gigabytes = 1) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = fetch_files(address, gigabytes, kEvery, kHasty).content;
    } catch (const std::exception& error) {
      text = error.what();
    }
    static_cast<void>(!::write(ends[1], text.data(), text.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

// What a process shows on a terminal while it fetches.
std::string shown_while_fetching(const std::string& address, bool quietly) {
  const Descriptor person(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK));
  REQUIRE(::grantpt(person.get()) == 0);
  REQUIRE(::unlockpt(person.get()) == 0);
  const Descriptor terminal(::open(::ptsname(person.get()), O_RDWR | O_NOCTTY));
  REQUIRE(terminal.get() >= 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(terminal.get(), STDERR_FILENO);
    if (quietly) fetch_quietly();
    try {
      fetch_files(address, 1, kEvery, kHasty);
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(::read(person.get(), text.data(), text.size()), 0)));
  return text;
}

struct Served {
  std::map<std::string, std::string> files;
  std::string version = "1";
  std::atomic<int> bodies = 0;
  HttpServer server{[this](const AskedFor& request) {
    if (!files.contains(request.path)) return Answer{.status = 404};
    if (request.header("range") != "bytes=0-0") ++bodies;
    return part_of(files[request.path], request, "\"" + version + "\"");
  }};
};

TEST_CASE("files at addresses are fetched once, and asked for again by later commands") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  Served served;
  served.files = {{"/s/a.tar", "aaaa"}, {"/s/b.tar", std::string(20 << 20, 'b')}};
  const std::string address = served.server.address() + "/s/{a,b}.tar";
  const std::string content = fetch_elsewhere(address);
  CHECK(content.size() == 32);
  CHECK(served.bodies == 4);  // b in three parts
  CHECK(fetch_elsewhere(address) == content);
  CHECK(served.bodies == 4);
  const FetchedFiles files = fetch_files(address, 1, kEvery, kHasty);
  CHECK(files.content == content);
  CHECK(content_of(files.place / "a.tar") == "aaaa");
  CHECK(content_of(files.place / "b.tar") == served.files["/s/b.tar"]);
  CHECK(std::string(Error(ExitCode::kData, (files.place / "a.tar").string() + ": bad").what()) ==
        served.server.address() + "/s/a.tar: bad");
  served.version = "2";
  served.files["/s/a.tar"] = "AAAA";
  CHECK(fetch_files(address, 1, kEvery, kHasty).content == content);  // this process has seen the first ones
  const std::string port = served.server.address().substr(std::string("http://127.0.0.1").size());
  CHECK(fetch_elsewhere("http://localhost" + port + "/s/{a,b}.tar") !=
        content);  // a forked process has seen them, too
  CHECK(content_of(files.place / "a.tar") == "aaaa");
}

TEST_CASE("a terminal shows how far fetching is, in one line, and nothing of it when it is to be quiet") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  Served served;
  const std::string name = "/" + std::string(150, 'n') + ".csv", other = "/other.csv";
  served.files = {{name, std::string(1000, 'x')}, {other, "y"}};
  const std::string shown = shown_while_fetching(served.server.address() + name, false);
  CHECK_THAT(shown, ContainsSubstring("fetching http://127.0.0.1") && ContainsSubstring(" of 1000 B"));
  CHECK(shown.substr(0, shown.rfind('\r')).size() < 90);  // with what is no text
  CHECK(shown_while_fetching(served.server.address() + other, true) == "");
}

TEST_CASE("one file at an address is a file, with its name") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  Served served;
  served.files = {{"/t.csv.gz", "x,y\n"}};
  const FetchedFiles files = fetch_files(served.server.address() + "/t.csv.gz", 1, kEvery, kHasty);
  CHECK(files.place.filename() == "t.csv.gz");
  CHECK(content_of(files.place) == "x,y\n");
}

TEST_CASE("without the server nothing is used, and the message says so") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  std::string address;
  {
    Served served;
    served.files = {{"/a.csv", "x,y\n"}};
    address = served.server.address() + "/a.csv";
    CHECK(fetch_elsewhere(address).size() == 32);
  }
  CHECK_THAT(fetch_elsewhere(address), ContainsSubstring("/a.csv: the server cannot be reached"));
  CHECK_THAT(fetch_elsewhere(address),
             ContainsSubstring("copies that were fetched before are used only while"));
}

TEST_CASE("the least recently used copies make room, but never those in use") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  Served served;
  for (const char* const name : {"/a", "/b", "/c"}) served.files[name] = std::string(400'000, name[1]);
  const auto at = [&](const std::string& name) { return served.server.address() + name; };
  const FetchedFiles used = fetch_files(at("/a"), 1e-3, kEvery, kHasty);
  CHECK(fetch_elsewhere(at("/b"), 1e-3).size() == 32);
  CHECK(list_fetched().size() == 2);
  CHECK(fetch_elsewhere(at("/c"), 1e-3).size() == 32);
  std::vector<std::string> left;
  for (const FetchedCopy& copy : list_fetched())
    left.push_back(copy.address + (copy.in_use ? " in use" : ""));
  std::sort(left.begin(), left.end());
  CHECK(left == std::vector<std::string>{at("/a") + " in use", at("/c")});
  CHECK(content_of(used.place) == served.files["/a"]);
  served.files["/d"] = std::string(1'100'000, 'd');
  CHECK_THAT(fetch_elsewhere(at("/d"), 1e-3), ContainsSubstring("data.cache_gigabytes: the files at"));
  for (const FetchedCopy& copy : list_fetched()) remove_fetched(copy);
  CHECK(list_fetched().size() == 1);
}

TEST_CASE("a file without a size takes no more than the limit") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  HttpServer server([&](const AskedFor&) {
    return Answer{.headers = {{"transfer-encoding", "chunked"}},
                  .body = "1e8480\r\n" + std::string(2'000'000, 'x') + "\r\n0\r\n\r\n"};
  });
  CHECK_THAT(fetch_elsewhere(server.address() + "/a.csv", 1e-3),
             ContainsSubstring("data.cache_gigabytes: the file at " + server.address() + "/a.csv"));
  CHECK(fetch_elsewhere(server.address() + "/a.csv", 1).size() == 32);
}

TEST_CASE("copies are good wherever the cache is, and for this user alone") {
  const TemporaryFolder folder;
  Served served;
  served.files = {{"/s/a.tar", "aaaa"}, {"/s/b.tar", "bbbb"}};
  const std::string address = served.server.address() + "/s/{a,b}.tar";
  {
    const Variable cache("XDG_CACHE_HOME", folder / "cache");
    CHECK(fetch_elsewhere(address).size() == 32);
    CHECK(fs::status(copies_folder()).permissions() == fs::perms::owner_all);
  }
  fs::rename(folder / "cache", folder / "moved");
  const Variable cache("XDG_CACHE_HOME", folder / "moved");
  const FetchedFiles files = fetch_files(address, 1, kEvery, kHasty);
  CHECK(content_of(files.place / "b.tar") == "bbbb");
  CHECK(served.bodies == 2);
}

TEST_CASE("processes that want the same files fetch them together, once") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  Served served;
  std::string names;
  for (int i = 0; i < 40; ++i) {
    served.files["/" + std::to_string(i)] = std::string(1000, static_cast<char>('a' + i));
    names += (i == 0 ? "" : ",") + std::to_string(i);
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      try {
        fetch_files(served.server.address() + "/{" + names + "}", 1, kEvery, kHasty);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(served.bodies == 40);
}

}  // namespace
}  // namespace dtrain
