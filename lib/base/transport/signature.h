// Signature Version 4 of AWS, with which a request to a store proves that its sender has the key, for
// requests without a body (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dtrain {

// What lets a reader into a store.
struct StoreKeys {
  std::string id, secret, session;  // `session` belongs to temporary keys
  std::string from;                 // where they were found, for messages
  bool are_given() const { return !id.empty(); }
  bool operator==(const StoreKeys&) const = default;
};

// In a request, bytes other than letters, digits and -_.~ are %XX.
std::string uri_encoded(const std::string& text, bool keeps_slashes);

struct SignedRequest {
  std::string host;                                             // with its port, if it is not the usual one
  std::string path = "/";                                       // encoded
  std::vector<std::pair<std::string, std::string>> query = {};  // not encoded
  std::map<std::string, std::string> headers = {};              // by lower-case name; signed, too
};

// "list-type=2&prefix=a%2Fb", in the order in which it is signed.
std::string query_text(const SignedRequest& request);

// The headers to send: those of the request, and those that sign it at `time` (seconds since 1970).
std::map<std::string, std::string> signed_headers(const SignedRequest& request, const StoreKeys& keys,
                                                  const std::string& region, int64_t time);

}  // namespace dtrain
