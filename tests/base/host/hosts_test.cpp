#include "host/hosts.h"

#include <string>
#include <vector>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

// Addresses stand for names here: these differ after a dot, too, and resolve without a network.
TEST_CASE("names that differ only after the first dot are told apart by their addresses") {
  const std::vector<std::string> hosts = {"192.0.2.1", "192.0.2.2", "n3"};
  CHECK(own_index(hosts, "192", {"127.0.0.1", "192.0.2.1"}) == 0);
  CHECK(own_index(hosts, "192", {"127.0.0.1", "192.0.2.2"}) == 1);
  // The whole name, or one up to the dot that only one host has, decides before any address.
  CHECK(own_index(hosts, "192.0.2.2", {"192.0.2.1"}) == 1);
  CHECK(own_index(hosts, "n3.example.org", {"192.0.2.1"}) == 2);
  // An address of this host under another name does not win over names.
  CHECK(own_index({"198.51.100.7", "192.0.2.1", "192.0.2.2"}, "192", {"198.51.100.7", "192.0.2.2"}) == 2);
}

TEST_CASE("hosts that neither names nor addresses tell apart are refused") {
  const std::vector<std::string> hosts = {"192.0.2.1", "192.0.2.2"};
  const auto refusal_of = [&](const std::string& name, const std::vector<std::string>& own) {
    try {
      return std::to_string(own_index(hosts, name, own));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return std::string(error.what());
    }
  };
  CHECK_THAT(refusal_of("192", {"192.0.2.1", "192.0.2.2"}), ContainsSubstring("is more than one of hosts"));
  CHECK_THAT(refusal_of("192", {"127.0.0.1"}), ContainsSubstring("is more than one of hosts"));
  CHECK_THAT(refusal_of("n4", {"192.0.2.1", "192.0.2.2"}), ContainsSubstring("is more than one of hosts"));
  CHECK_THAT(refusal_of("n4", {"127.0.0.1"}),
             ContainsSubstring("this host, 'n4' with the addresses 127.0.0.1, is none of hosts: 192.0.2.1") &&
                 ContainsSubstring("DTRAIN_HOST_INDEX=0..1"));
}

TEST_CASE("hosts have names as in /etc/hosts and compose files, or addresses, and no option of ssh is one") {
  for (const char* const name : {"n1", "my_project_worker_1", "n1.example.org", "10.0.0.2", "fe80::3", "::1"})
    CHECK(is_host(name));
  for (const char* const text : {"", "-oProxyCommand=x", "_n1", ".n1", "a b", "$(id)", "a/b", ":n1"})
    CHECK_FALSE(is_host(text));
}

}  // namespace
}  // namespace dtrain
