#include "core/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "catch.h"
#include "core/descriptor.h"

namespace dtrain {
namespace {

TEST_CASE("there is no room for text while its reader stands still, and what a reader leaves is no wait") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  CHECK(has_room(writer.get()));
  std::array<char, 4096> text{};
  while (::write(writer.get(), text.data(), text.size()) > 0) {
  }
  CHECK_FALSE(has_room(writer.get()));
  reader.reset();
  CHECK(has_room(writer.get()));
}

}  // namespace
}  // namespace dtrain
