// The server side of the store for the processes of one host (local_store.h), and the messages between it and
// its clients. Each message is a list of texts.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

// The first field of a request is its kind. The comments list the other fields -> the fields of the answer.
enum class StoreRequest : char {
  kSet = 's',         // key, value                                   -> nothing
  kGet = 'g',         // milliseconds to wait (0: forever), keys ...  -> their values
  kWait = 'w',        // the same                                     -> nothing
  kCheck = 'k',       // keys ...                                     -> "1" when all are set, else "0"
  kAdd = 'a',         // key, number                                  -> the sum
  kCompareSet = 'c',  // key, expected, desired                       -> the value that the key has now
  kDelete = 'd',      // key                                          -> "1" if it was set, else "0"
  kCount = 'n',       // nothing                                      -> the number of keys
};

// The first field of an answer.
inline constexpr const char* kStoreDone = "done";
inline constexpr const char* kStoreTimedOut = "timed out";  // followed by the keys that are not set
inline constexpr const char* kStoreRefused = "refused";     // followed by the reason

constexpr uint64_t kLongestStoreMessage = uint64_t{64} << 20;  // bytes

using StoreMessage = std::vector<std::string>;

// Throws std::length_error if the message is longer than kLongestStoreMessage.
std::string encode(const StoreMessage& message);

// Takes the first message off `bytes`; nullopt if it is not complete yet. Throws std::length_error if the
// message is longer than kLongestStoreMessage, and std::invalid_argument if it is malformed.
std::optional<StoreMessage> take_message(std::string& bytes);

// The address of a Unix socket without a file, and the address's length.
struct AbstractAddress {
  explicit AbstractAddress(const std::string& name);
  sockaddr_un address{};
  socklen_t length = 0;
};

// Whether the process at the other end runs as the same user as this one (SO_PEERCRED).
bool is_same_user(int socket);

// Serves a store on its own thread for as long as this object exists. Connections of other users are closed
// at once. Throws Error(kPeerLost) if no socket can be made.
class LocalStoreHost {
 public:
  LocalStoreHost();
  ~LocalStoreHost();

  // The name of its socket in the abstract namespace (unix(7)).
  const std::string& name() const { return name_; }

 private:
  Descriptor listener_;
  std::string name_;
  std::thread thread_;
};

}  // namespace dtrain
