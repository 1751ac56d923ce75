#include "core/protobuf.h"

namespace dtrain::protobuf {
namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

std::string key(int field, WireType type) { return varint(static_cast<uint64_t>(field) << 3 | type); }

}  // namespace

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string integer(int field, int64_t value) {
  return key(field, kVarint) + varint(static_cast<uint64_t>(value));
}

std::string number(int field, double value) { return key(field, kFixed64) + little_endian(value); }

std::string single(int field, float value) { return key(field, kFixed32) + little_endian(value); }

std::string bytes(int field, const std::string& value) {
  return key(field, kLength) + varint(value.size()) + value;
}

}  // namespace dtrain::protobuf
