#include "transport/store.h"

#include "catch.h"
#include "crypto/crypto.h"

namespace dtrain {
namespace {

// "Examples: Signature Calculations" of AWS's documentation of Amazon S3, which publishes these keys for
// them.
const StoreKeys kKeys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "",
                      "the documentation"};
constexpr int64_t kTime = 1369353600;  // 2013-05-24, 0:00 UTC

std::string signature_of(const SignedRequest& request) {
  const std::string header = signed_headers(request, kKeys, "us-east-1", kTime).at("authorization");
  return header.substr(header.find("Signature=") + 10);
}

TEST_CASE("signatures are those of AWS's examples") {
  SignedRequest object{.host = "examplebucket.s3.amazonaws.com", .path = "/test.txt"};
  object.headers = {{"range", "bytes=0-9"}};
  CHECK(signature_of(object) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(signed_headers(object, kKeys, "us-east-1", kTime).at("authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

  SignedRequest lifecycle{.host = "examplebucket.s3.amazonaws.com", .query = {{"lifecycle", ""}}};
  CHECK(signature_of(lifecycle) == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");

  SignedRequest list{.host = "examplebucket.s3.amazonaws.com", .query = {{"prefix", "J"}, {"max-keys", "2"}}};
  CHECK(query_text(list) == "max-keys=2&prefix=J");
  CHECK(signature_of(list) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("what a request has in its path and query is encoded as it is signed") {
  CHECK(uri_encoded("a b+c=d/é~_-.", true) == "a%20b%2Bc%3Dd/%C3%A9~_-.");
  CHECK(uri_encoded("a/b", false) == "a%2Fb");
  SignedRequest list{.host = "h", .query = {{"prefix", "a=b/ü"}, {"continuation-token", "x+/="}}};
  CHECK(query_text(list) == "continuation-token=x%2B%2F%3D&prefix=a%3Db%2F%C3%BC");
}

TEST_CASE("the token of temporary keys is sent and signed") {
  StoreKeys keys = kKeys;
  keys.session = "a session";
  const auto headers = signed_headers({.host = "h"}, keys, "us-east-1", kTime);
  CHECK(headers.at("x-amz-security-token") == "a session");
  CHECK_THAT(headers.at("authorization"), ContainsSubstring("x-amz-date;x-amz-security-token,"));
}

}  // namespace
}  // namespace dtrain
