// Stores with the interface of S3: their settings from AWS's usual variables and files, requests for objects,
// and lists of objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "transport/http.h"

namespace dtrain {

// What lets a reader into a store.
struct StoreKeys {
  std::string id, secret, session;  // `session` belongs to temporary keys
  std::string from;                 // where they were found, for messages
  bool are_given() const { return !id.empty(); }
  bool operator==(const StoreKeys&) const = default;
};

struct StoreSettings {
  StoreKeys keys;        // not given: what everyone may read can be read
  std::string region;    // us-east-1 where nothing names one
  std::string endpoint;  // "https://minio.example:9000"; empty: AWS
};

// From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else of the profile AWS_PROFILE
// (default) in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE (~/.aws/config);
// AWS_REGION or AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. Throws Error(kUsage) that says
// what is wrong with them, and repeats no key.
StoreSettings store_settings();

// s3://bucket/key; the key as it is, with nothing encoded.
struct StorePlace {
  std::string bucket, key;
};

// Throws Error(kUsage) for a bucket with characters that names of buckets do not have.
StorePlace store_place(const std::string& address);

// The request for an object, or with `query` for a list of a bucket's (`key` is empty), signed with the keys.
HttpRequest store_request(const StoreSettings& settings, const StorePlace& place,
                          const std::vector<std::pair<std::string, std::string>>& query,
                          const std::map<std::string, std::string>& headers);

struct StoreEntry {
  std::string key;
  int64_t bytes = 0;
  std::string etag;  // with its quotes
};

struct StorePage {
  std::vector<StoreEntry> entries;
  std::string next;  // the token for the next page; empty: this is the last one
};

// A page of ListObjectsV2. Throws Error(kData) that begins with `address` if it is none.
StorePage parse_store_page(const std::string& xml, const std::string& address);

// "AccessDenied" of the XML that came with an error; empty: there is none.
std::string store_error_code(const std::string& xml);

// Signature Version 4 of AWS, with which a request to a store proves that its sender has the key, for
// requests without a body (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).

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
