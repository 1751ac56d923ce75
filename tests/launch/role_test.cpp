#include "launch/role.h"

#include "catch.h"

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

}  // namespace
}  // namespace dtrain
