
#include "catch.h"

#include "launch/identity.h"

namespace dtrain {
namespace {

TEST_CASE("without servers every process trains") {
  const Role role = role_of(2, 3, 0);
  CHECK_FALSE(role.serves);
  CHECK(role.number == 2);
  CHECK(role.name == "rank 2");
}

TEST_CASE("workers come before servers, and each kind counts from 0") {
  CHECK(role_of(0, 3, 2).name == "worker 0");
  CHECK(role_of(2, 3, 2).name == "worker 2");
  CHECK_FALSE(role_of(2, 3, 2).serves);
  CHECK(role_of(3, 3, 2).name == "server 0");
  CHECK(role_of(4, 3, 2).serves);
  CHECK(role_of(4, 3, 2).number == 1);
}

TEST_CASE("several ranks are named by what they do") {
  CHECK(names_of_ranks(1, 2, 4, 0) == "ranks 1 to 2");
  CHECK(names_of_ranks(2, 1, 3, 2) == "worker 2");
  CHECK(names_of_ranks(2, 3, 3, 2) == "worker 2, server 0, server 1");
}

}  // namespace
}  // namespace dtrain
