// What the usual variables and files of AWS say: keys, region and endpoint.
#pragma once

#include <string>

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

}  // namespace dtrain
