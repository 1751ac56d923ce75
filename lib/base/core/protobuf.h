// Encodes protocol buffer fields by hand: dtrain writes so few of these formats that it does not need the
// protobuf compiler (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace dtrain::protobuf {

// The bytes of a number, least significant first.
template <class T>
std::string little_endian(T value) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

inline std::string key(int field, WireType type) { return varint(static_cast<uint64_t>(field) << 3 | type); }

// int32, int64, enum, bool
inline std::string integer(int field, int64_t value) {
  return key(field, kVarint) + varint(static_cast<uint64_t>(value));
}
inline std::string number(int field, double value) { return key(field, kFixed64) + little_endian(value); }
inline std::string single(int field, float value) { return key(field, kFixed32) + little_endian(value); }
// string, bytes, a message
inline std::string bytes(int field, const std::string& value) {
  return key(field, kLength) + varint(value.size()) + value;
}

}  // namespace dtrain::protobuf
