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

std::string varint(uint64_t value);

std::string integer(int field, int64_t value);           // int32, int64, enum, bool
std::string number(int field, double value);             // double
std::string single(int field, float value);              // float
std::string bytes(int field, const std::string& value);  // string, bytes, a message

}  // namespace dtrain::protobuf
