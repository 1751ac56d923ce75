#include "core/protobuf.h"

#include <limits>

#include "catch.h"
#include "protobuf_reader.h"

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

TEST_CASE("fields are read back") {
  const std::string inner = integer(1, std::numeric_limits<int64_t>::min()) + single(15, -0.5F);
  const std::string message = integer(1, 150) + number(2, 1e300) + bytes(536870911, inner) + bytes(3, "");
  const std::vector<ProtobufField> fields = protobuf_fields(message);
  REQUIRE(fields.size() == 4);
  CHECK(fields[0].number() == 1);
  CHECK(fields[0].as_integer() == 150);
  CHECK(fields[1].as_double() == 1e300);
  CHECK(fields[2].number() == 536870911);
  CHECK(fields[3].as_bytes().empty());
  const std::vector<ProtobufField> within = protobuf_fields(fields[2].as_bytes());
  REQUIRE(within.size() == 2);
  CHECK(within[0].as_integer() == std::numeric_limits<int64_t>::min());
  CHECK(within[1].as_float() == -0.5F);
  CHECK_THROWS(fields[0].as_bytes());
  CHECK_THROWS(fields[1].as_integer());
  CHECK_THROWS(within[1].as_double());
}

TEST_CASE("what is no message is not read") {
  CHECK(protobuf_fields("").empty());
  for (const std::string& field : {integer(1, 150), number(2, 1), single(3, 1), bytes(16, "testing")}) {
    for (size_t size = 1; size < field.size(); ++size) CHECK_THROWS(protobuf_fields(field.substr(0, size)));
  }
  CHECK_THROWS(protobuf_fields(std::string(2, '\0')));                      // field 0
  CHECK_THROWS(protobuf_fields("\x0b"));                                    // a group
  CHECK_THROWS(protobuf_fields("\x0a" + varint(UINT64_MAX) + "testing"));   // longer than anything
  CHECK_THROWS(protobuf_fields("\x08" + std::string(9, '\xff') + "\x02"));  // 65 bits
  CHECK_THROWS(protobuf_fields("\x08" + std::string(10, '\xff') + "\x01"));
}

}  // namespace
}  // namespace dtrain::protobuf
