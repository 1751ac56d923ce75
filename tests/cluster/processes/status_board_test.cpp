#include "processes/status_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "catch.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"

namespace dtrain {
namespace {

// A memory file with the first bytes of a real board of 4, of another size, perhaps with another number of
// replicas.
Descriptor forged_board(off_t size, int64_t replicas) {
  const auto board = StatusBoard::create(4);
  std::vector<char> bytes(64 * 5);
  REQUIRE(::pread(board->descriptor(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::copy_n(reinterpret_cast<const char*>(&replicas), sizeof replicas, bytes.begin() + 8);
  Descriptor file(::memfd_create("forged", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(::ftruncate(file.get(), size) == 0);
  return file;
}

TEST_CASE("a new board shows every replica starting") {
  const double before = steady_seconds();
  const auto board = StatusBoard::create(3);
  CHECK(board->replicas() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(board->get(rank).activity == Activity::kStarting);
    CHECK(board->get(rank).step == 0);
    CHECK(board->get(rank).since >= before);
    CHECK(board->get(rank).since <= steady_seconds());
  }
}

TEST_CASE("what another process writes is read here, and only in its slot") {
  const auto board = StatusBoard::create(3);
  const double before = steady_seconds();
  const pid_t child = ::fork();
  if (child == 0) {
    [&]() noexcept {  // an exception must not run the other tests a second time
      StatusBoard::open(::dup(board->descriptor()))->set(1, Activity::kCommunicating, int64_t{1} << 40);
      ::_exit(0);
    }();
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK(board->get(1).activity == Activity::kCommunicating);
  CHECK(board->get(1).step == int64_t{1} << 40);
  CHECK(board->get(1).since >= before);
  CHECK(board->get(0).activity == Activity::kStarting);
  CHECK(board->get(2).activity == Activity::kStarting);
}

TEST_CASE("a board is closed on exec and leaves nothing behind") {
  int descriptor = -1;
  {
    const auto board = StatusBoard::create(2);
    descriptor = board->descriptor();
    CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    const int copy = ::dup(descriptor);
    const auto view = StatusBoard::open(copy);
    CHECK((::fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(::ftruncate(copy, 0) != 0);  // a replica cannot pull the memory away from the others
  }
  CHECK(::fcntl(descriptor, F_GETFD) == -1);
}

TEST_CASE("ranks outside the board and impossible sizes are refused") {
  const auto board = StatusBoard::create(2);
  CHECK_THROWS_AS(board->set(2, Activity::kComputing, 1), Error);
  CHECK_THROWS_AS(board->set(-1, Activity::kComputing, 1), Error);
  CHECK_THROWS_AS(board->get(2), Error);
  CHECK_THROWS_AS(StatusBoard::create(0), Error);
  CHECK_THROWS_AS(StatusBoard::create(-1), Error);
  CHECK_THROWS_AS(StatusBoard::create(1 << 30), Error);
}

TEST_CASE("what is no board is not mapped") {
  const auto refused = [](int descriptor) { CHECK_THROWS_AS(StatusBoard::open(descriptor), Error); };
  refused(-1);
  refused(12345);
  refused(Descriptor(::open("/dev/zero", O_RDWR)).get());
  refused(Descriptor(::memfd_create("empty", 0)).get());
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor reading(ends[0]), writing(ends[1]);
  refused(reading.get());
  refused(forged_board(64 * 5 - 1, 4).get());
  refused(forged_board(64 * 6, 4).get());
  refused(forged_board(64, 0).get());
  refused(forged_board(0, 4).get());
  refused(forged_board(64 * 5, -1).get());
  refused(forged_board(64 * 5, (int64_t{1} << 58) + 4).get());  // its size wraps around to that of 4
  CHECK(StatusBoard::open(forged_board(64 * 5, 4).release())->replicas() == 4);
}

TEST_CASE("a number that is no activity still has a name") {
  CHECK(std::string(activity_name(Activity::kWaitingForData)) == "waiting for data");
  CHECK_FALSE(std::string(activity_name(static_cast<Activity>(200))).empty());
}

}  // namespace
}  // namespace dtrain
