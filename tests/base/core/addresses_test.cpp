#include "core/addresses.h"

#include "catch.h"

namespace dtrain {
namespace {

TEST_CASE("an address may have a query, but no secrets in it") {
  for (const char* const name :
       {"author", "authors", "tokenizer", "sort_key", "sort-key", "partitionKey", "page", "keywords"}) {
    INFO(name);
    CHECK(fault_of_address(std::string("https://host/data.csv?part=3&") + name + "=x").empty());
  }
  for (const char* const name :
       {"key", "api_key", "apikey", "subscription-key", "auth", "Authorization", "token", "access_token",
        "X-Amz-Signature", "X-Amz-Security-Token", "sig", "pwd", "password", "client.secret"}) {
    INFO(name);
    CHECK_THAT(fault_of_address(std::string("https://host/data.csv?part=3&") + name + "=x"),
               ContainsSubstring("a signature or a key"));
  }
}

}  // namespace
}  // namespace dtrain
