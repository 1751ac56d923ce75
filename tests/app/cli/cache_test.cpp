// dtrain cache: what it counts of what it removes.
#include <nlohmann/json.hpp>

#include "addresses/copies.h"
#include "catch.h"
#include "command_line.h"
#include "files.h"
#include "http_server.h"

namespace dtrain {
namespace {

TEST_CASE("dtrain cache --clear counts what it removed, and not what jobs use") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  const std::string used(32, 'a'), unused(32, 'b');
  const Descriptor in_use = use_copies("set", {used});
  for (const auto& [key, bytes] : {std::pair{used, size_t{3000}}, {unused, size_t{500}}}) {
    write_file(path_of_copy(key), std::string(bytes, 'x'));
    write_about_copy(key, {"http://host/" + key, static_cast<int64_t>(bytes), "sum"});
  }
  const auto list = nlohmann::json::parse(dtrain_command({"cache", "--json"}).output);
  CHECK(list.at("bytes") == 3500);
  CHECK_FALSE(list.contains("still_in_use"));
  const auto cleared = nlohmann::json::parse(dtrain_command({"cache", "--clear", "--json"}).output);
  CHECK(cleared.at("bytes") == 500);
  CHECK(cleared.at("still_in_use") == 1);
  CHECK(std::filesystem::exists(path_of_copy(used)));
  CHECK_FALSE(std::filesystem::exists(path_of_copy(unused)));
  const std::string again = dtrain_command({"cache", "--clear"}).output;
  CHECK_THAT(again,
             ContainsSubstring("       0 B  removed from ") && ContainsSubstring("; still in use: 1 file\n"));
}

}  // namespace
}  // namespace dtrain
