// Reads messages of protocol buffers field by field, without knowing what they mean: the way back from
// core/protobuf.h, written from the format's description (https://protobuf.dev/programming-guides/encoding).
// Everything throws std::runtime_error at bytes that are no message, or that mean something else.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

class ProtobufField {
 public:
  enum Wire { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };  // how its value is encoded

  ProtobufField(int number, Wire wire, uint64_t bits) : number_(number), wire_(wire), bits_(bits) {}
  ProtobufField(int number, std::string bytes)
      : number_(number), wire_(kLength), bits_(0), bytes_(std::move(bytes)) {}

  int number() const { return number_; }
  int64_t as_integer() const { return static_cast<int64_t>(checked(kVarint).bits_); }
  float as_float() const { return from_bits<float>(static_cast<uint32_t>(checked(kFixed32).bits_)); }
  double as_double() const { return from_bits<double>(checked(kFixed64).bits_); }
  const std::string& as_bytes() const { return checked(kLength).bytes_; }  // a string or a message too

 private:
  const ProtobufField& checked(Wire wire) const {
    if (wire_ == wire) return *this;
    throw std::runtime_error("protobuf: field " + std::to_string(number_) + " is encoded as type " +
                             std::to_string(wire_) + ", not " + std::to_string(wire));
  }
  template <class T, class Bits>
  static T from_bits(Bits bits) {
    static_assert(sizeof(T) == sizeof(Bits));
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

  int number_;
  Wire wire_;
  uint64_t bits_;
  std::string bytes_;
};

// What is left of a message.
class ProtobufBytes {
 public:
  explicit ProtobufBytes(const std::string& message) : message_(message) {}

  bool empty() const { return at_ == message_.size(); }

  ProtobufField take_field() {
    const uint64_t key = take_varint();  // the number of the field, and three bits of how it is encoded
    if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) throw std::runtime_error("protobuf: no number of a field");
    const int number = static_cast<int>(key >> 3);
    switch (key & 7) {
      case ProtobufField::kVarint:
        return {number, ProtobufField::kVarint, take_varint()};
      case ProtobufField::kFixed64:
        return {number, ProtobufField::kFixed64, take_fixed(8)};
      case ProtobufField::kFixed32:
        return {number, ProtobufField::kFixed32, take_fixed(4)};
      case ProtobufField::kLength:
        return {number, take(take_varint())};
      default:
        throw std::runtime_error("protobuf: no type of encoding: " + std::to_string(key & 7));
    }
  }

 private:
  std::string take(uint64_t size) {
    if (size > message_.size() - at_) throw std::runtime_error("protobuf: the message ends within a field");
    at_ += size;
    return message_.substr(at_ - size, size);
  }
  // Seven bits in each byte, the lowest first; the eighth says that there are more.
  uint64_t take_varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("protobuf: a number of more than 64 bits");
  }
  uint64_t take_fixed(uint64_t size) {
    const std::string bytes = take(size);
    uint64_t bits = 0;
    for (uint64_t i = 0; i < size; ++i)
      bits |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << 8 * i;
    return bits;
  }

  const std::string& message_;
  size_t at_ = 0;
};

// The fields of a message, in its order.
inline std::vector<ProtobufField> protobuf_fields(const std::string& message) {
  std::vector<ProtobufField> fields;
  for (ProtobufBytes rest(message); !rest.empty();) fields.push_back(rest.take_field());
  return fields;
}

}  // namespace dtrain
