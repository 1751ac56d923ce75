#include "core/protobuf.h"

#include "catch.h"

namespace dtrain::protobuf {
namespace {

// The examples of https://protobuf.dev/programming-guides/encoding.
TEST_CASE("fields are encoded as the format's description says") {
  CHECK(integer(1, 150) == std::string("\x08\x96\x01"));
  CHECK(bytes(2, "testing") == std::string("\x12\x07testing"));
  CHECK(varint(0) == std::string(1, '\0'));
  CHECK(varint(UINT64_MAX) == std::string(9, '\xff') + "\x01");
  CHECK(integer(1, -1) == "\x08" + varint(UINT64_MAX));
  CHECK(single(3, 1.0F) == std::string("\x1d\x00\x00\x80\x3f", 5));
  CHECK(number(1, -2.0) == std::string("\x09\x00\x00\x00\x00\x00\x00\x00\xc0", 9));
  CHECK(integer(16, 1) == std::string("\x80\x01\x01"));
}

}  // namespace
}  // namespace dtrain::protobuf
