#include "store/local_store_messages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace dtrain {
namespace {

constexpr size_t kNumber = sizeof(uint64_t);

void put_number(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), kNumber);
}

// Both ends are on the same machine, so their byte orders are the same.
uint64_t number_at(const std::string& bytes, size_t position) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + position, kNumber);
  return number;
}

}  // namespace

// The length of the rest of the message, then each field preceded by its length.
std::string encode(const StoreMessage& message) {
  uint64_t length = 0;
  for (const std::string& field : message) length += kNumber + field.size();
  if (length > kLongestStoreMessage) {
    throw std::length_error(fmt::format("a message of {} bytes is more than a store takes, which is {}",
                                        length, kLongestStoreMessage));
  }
  std::string bytes;
  bytes.reserve(kNumber + length);
  put_number(bytes, length);
  for (const std::string& field : message) {
    put_number(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

std::optional<StoreMessage> take_message(std::string& bytes) {
  if (bytes.size() < kNumber) return std::nullopt;
  const uint64_t length = number_at(bytes, 0);
  if (length > kLongestStoreMessage) throw std::length_error("a message is longer than a store takes");
  const size_t end = kNumber + length;
  if (bytes.size() < end) return std::nullopt;
  StoreMessage message;
  for (size_t position = kNumber; position < end;) {
    const size_t room = end - position;
    if (room < kNumber || number_at(bytes, position) > room - kNumber)
      throw std::invalid_argument("a message to a store contradicts itself");
    const uint64_t size = number_at(bytes, position);
    message.push_back(bytes.substr(position + kNumber, size));
    position += kNumber + size;
  }
  bytes.erase(0, end);
  return message;
}

AbstractAddress::AbstractAddress(const std::string& name) {
  address.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);  // after a zero byte, as the name is no file's
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

}  // namespace dtrain
