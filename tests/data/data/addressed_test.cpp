#include <sys/wait.h>
#include <unistd.h>

#include "addresses/fetched_files.h"
#include "catch.h"
#include "core/error.h"
#include "data/dataset.h"
#include "files.h"
#include "http_server.h"

namespace dtrain {
namespace {

DataSpec table_at(const std::string& path) {
  DataSpec spec;
  spec.dataset = "csv";
  spec.path = path;
  spec.target = {"y"};
  spec.target_kind = "numbers";
  return spec;
}

std::string refusal_of(const DataSpec& spec) {
  try {
    load_dataset(spec, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

at::Tensor all_of(const ExampleSource& source) {
  at::Tensor inputs = at::empty({source.size(), source.shape()[0]});
  at::Tensor targets = at::empty({source.size(), 1});
  std::vector<int64_t> rows(static_cast<size_t>(source.size()));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  ExampleSlot slot{inputs, targets};
  source.read(rows, {}, slot);
  return at::cat({inputs, targets}, 1);
}

TEST_CASE("a dataset at an address is that of a folder with the same files") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  std::map<std::string, std::string> files = {{"/t/train.csv", "a,b,y\n1,2,3\n4,5.5,6\n7,8,9\n"},
                                              {"/t/test.csv", "a,b,y\n1,1,1\n"},
                                              {"/bad/train.csv", "a,b,y\n1,2,3\n1,oops\n"},
                                              {"/bad/test.csv", "a,b,y\n1,1,1\n"}};
  auto server = std::make_unique<HttpServer>([&](const AskedFor& request) {
    return files.contains(request.path) ? part_of(files[request.path], request, "\"1\"")
                                        : Answer{.status = 404};
  });
  for (const char* const name : {"train.csv", "test.csv"})
    write_file(folder / name, files[std::string("/t/") + name]);
  const DataSpec there = table_at(server->address() + "/t/{train,test}.csv"), here = table_at(folder.path());
  const Dataset local = load_dataset(here, 0), fetched = load_dataset(there, 0);
  CHECK(at::equal(all_of(*fetched.train), all_of(*local.train)));
  CHECK(at::equal(all_of(*fetched.test), all_of(*local.test)));
  CHECK(fetched.info.table == local.info.table);
  CHECK(fetched.info.source == *there.path);
  CHECK(local.info.content.empty());
  CHECK_THAT(fingerprint_of(fetched.info),
             ContainsSubstring(", checksum of the files " + fetched.info.content.substr(0, 16)));
  CHECK_THAT(refusal_of(table_at(server->address() + "/bad/{train,test}.csv")),
             ContainsSubstring(server->address() + "/bad/train.csv"));
  CHECK_THAT(refusal_of(table_at(server->address() + "/none.csv")),
             ContainsSubstring("/none.csv: the server answers 404"));

  DataSpec trained = there;
  trained.saved_content = fetched.info.content;
  CHECK(refusal_of(trained).empty());
  trained.saved_content = std::string(32, '0');
  CHECK_THAT(refusal_of(trained), ContainsSubstring("its files are not those that the model was trained on"));
}

TEST_CASE("a replica uses what its job has fetched, and asks no server") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder / "cache");
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  DataSpec spec;
  {
    HttpServer server(
        [&](const AskedFor& request) { return part_of("a,y\n1,2\n3,4\n5,6\n7,8\n", request, "\"1\""); });
    spec = table_at(server.address() + "/t.csv");
    spec.split.test = 0.25;
    const pid_t planner = ::fork();  // this process would remember
    if (planner == 0) {
      const FetchedFiles files = fetch_files(*spec.path, 1, [](const std::string&) { return true; });
      const std::string text = files.place.string() + "\n" + files.content;
      static_cast<void>(!::write(ends[1], text.data(), text.size()));
      ::_exit(0);
    }
    ::waitpid(planner, nullptr, 0);
  }
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(::read(ends[0], text.data(), text.size())));
  spec.resolved_place = text.substr(0, text.find('\n'));
  spec.resolved_content = text.substr(text.find('\n') + 1);
  const Dataset dataset = load_dataset(spec, 0);
  CHECK(dataset.train->size() == 3);
  CHECK(dataset.info.content == spec.resolved_content);
}

}  // namespace
}  // namespace dtrain
