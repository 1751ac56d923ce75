#include <algorithm>

#include "core/checksum.h"

#include "catch.h"

namespace dtrain {
namespace {

TEST_CASE("the checksum is XXH3's of 128 bits, as xxhsum -H2 prints it") {
  CHECK(checksum_of("") ==
        "99aa06d3014798d86001c324468d497f");  // XXH3_128bits of nothing, xxHash's own self-test
  CHECK(checksum_of("abc") == "06b05ab6733a618578af5f94892f3950");
  CHECK(checksum_of("").size() == kChecksumDigits);
}

TEST_CASE("bytes may come in pieces") {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 7);
  for (const size_t piece : {size_t{1}, size_t{64}, size_t{241}, size_t{4999}}) {
    Checksum checksum;
    for (size_t at = 0; at < bytes.size(); at += piece)
      checksum.add(bytes.data() + at, std::min(piece, bytes.size() - at));
    CHECK(checksum.text() == checksum_of(bytes));
    CHECK(checksum.number() == std::stoull(checksum.text().substr(16), nullptr, 16));
  }
}

}  // namespace
}  // namespace dtrain
