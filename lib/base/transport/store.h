// Stores with the interface of S3: what the usual variables and files of AWS say about them, how their
// objects are asked for, and lists of objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/http.h"
#include "transport/signature.h"

namespace dtrain {

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

}  // namespace dtrain
