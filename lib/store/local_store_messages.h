// What travels between a store on this host and those that use it: messages that are lists of texts.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// The first field of a request says what is wanted; the others:
enum class StoreRequest : char {
  kSet = 's',         // key, value, key, value ...                   -> nothing
  kGet = 'g',         // milliseconds to wait (0: for ever), keys ... -> their values
  kWait = 'w',        // the same                                     -> nothing
  kCheck = 'k',       // keys ...                                     -> "1" when all are set, else "0"
  kAdd = 'a',         // key, number                                  -> the sum
  kAppend = 'p',      // key, value                                   -> nothing
  kCompareSet = 'c',  // key, expected, desired                       -> what it is now
  kDelete = 'd',      // key                                          -> "1" when it was there, else "0"
  kCount = 'n',       // nothing                                      -> how many keys there are
};

// The first field of an answer.
inline constexpr const char* kStoreDone = "done";
inline constexpr const char* kStoreTimedOut = "timed out";  // the keys that are not set follow
inline constexpr const char* kStoreRefused = "refused";     // why follows

constexpr uint64_t kLongestStoreMessage = uint64_t{64} << 20;  // bytes

using StoreMessage = std::vector<std::string>;

// Throws std::length_error, which says so, when it is longer than the longest.
std::string encode(const StoreMessage& message);

// Takes the first message off `bytes`; nullopt as long as there is no whole one. Throws std::length_error for
// one that is longer than the longest, std::invalid_argument for one that contradicts itself.
std::optional<StoreMessage> take_message(std::string& bytes);

// The address of a Unix socket without a file, with its length.
struct AbstractAddress {
  explicit AbstractAddress(const std::string& name);
  sockaddr_un address{};
  socklen_t length = 0;
};

// Whether the process at the other end runs as the same user as this one (SO_PEERCRED).
bool is_same_user(int socket);

}  // namespace dtrain
