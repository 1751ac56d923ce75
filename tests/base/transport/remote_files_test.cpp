#include "transport/remote_files.h"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "http_server.h"
#include "transport/store.h"

namespace dtrain {
namespace {

const HttpTimes kQuick{
    .connect_seconds = 5, .silent_seconds = 5, .first_wait = 0.01, .longest_wait = 2, .attempts = 4};
const IsWanted kAll = [](const std::string&) { return true; };

std::string bytes_of(size_t count) {
  std::string bytes;
  for (size_t i = 0; bytes.size() < count; ++i) bytes += std::to_string(i * i) + ",";
  return bytes.substr(0, count);
}

std::string read_all(RemoteFiles& remote, const RemoteFile& file) {
  std::string content(static_cast<size_t>(std::max<int64_t>(file.bytes, 0)), '?');
  const int64_t end = remote.read(file, 0, -1, [&](int64_t offset, const char* bytes, size_t count) {
    content.resize(std::max(content.size(), static_cast<size_t>(offset) + count));
    content.replace(static_cast<size_t>(offset), count, bytes, count);
  });
  return content.substr(0, static_cast<size_t>(end));
}

std::string read_address(const std::string& address, const HttpTimes& times = kQuick) {
  RemoteFiles remote(times);
  return read_all(remote, remote.find(address, kAll).at(0));
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

ExitCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kDone;
}

// What a store needs, in place of what this machine has.
struct StoreVariables {
  explicit StoreVariables(const std::string& endpoint, const std::string& id = "AKIDEXAMPLE",
                          const std::string& secret = "very-secret-key")
      : variables{Variable{"AWS_ENDPOINT_URL", endpoint}, Variable{"AWS_ENDPOINT_URL_S3", ""},
                  Variable{"AWS_ACCESS_KEY_ID", id},      Variable{"AWS_SECRET_ACCESS_KEY", secret},
                  Variable{"AWS_SESSION_TOKEN", ""},      Variable{"AWS_PROFILE", ""},
                  Variable{"AWS_REGION", "eu-west-1"},    Variable{"AWS_SHARED_CREDENTIALS_FILE", "/nowhere"},
                  Variable{"AWS_CONFIG_FILE", "/nowhere"}} {}
  Variable variables[9];
};

TEST_CASE("a file at an address is found, and read whole and in parts") {
  const std::string content = bytes_of(100'000);
  HttpServer server([&](const AskedFor& request) { return part_of(content, request, "\"v1\""); });
  RemoteFiles remote(kQuick);
  const RemoteFile file = remote.find(server.address() + "/data/train%20set.csv?version=2", kAll).at(0);
  CHECK(file.name == "train set.csv");
  CHECK(file.bytes == 100'000);
  CHECK(file.version == "\"v1\"");
  CHECK(file.has_ranges);
  CHECK(file.shown() == server.address() + "/data/train%20set.csv");
  CHECK(read_all(remote, file) == content);
  std::string part;
  CHECK(remote.read(file, 1000, 3000, [&](int64_t offset, const char* bytes, size_t count) {
    CHECK(offset == 1000 + std::ssize(part));
    part.append(bytes, count);
  }) == 3000);
  CHECK(part == content.substr(1000, 2000));
  CHECK(server.asked().back().header("range") == "bytes=1000-2999");
  CHECK(server.asked().back().header("if-match") == "\"v1\"");
}

TEST_CASE("servers without ranges, without sizes and with empty files will do") {
  const std::string content = bytes_of(50'000);
  HttpServer plain([&](const AskedFor&) { return Answer{.body = content}; });
  CHECK(read_address(plain.address() + "/a") == content);
  HttpServer chunked([&](const AskedFor&) {
    return Answer{.headers = {{"transfer-encoding", "chunked"}}, .body = "5\r\nhello\r\n0\r\n\r\n"};
  });
  CHECK(read_address(chunked.address() + "/a") == "hello");
  HttpServer empty([&](const AskedFor& request) { return part_of("", request, "\"e\""); });
  CHECK(read_address(empty.address() + "/a").empty());
}

TEST_CASE("an end that could be that of a cut connection is an error") {
  for (const std::string body : {"5\r\nhello\r\n", "5\r\nhello\r\n5\r\nwor",
                                 "5\r\nhello\r\nzz\r\nworld\r\n0\r\n\r\n", "5\r\nhello!\r\n0\r\n\r\n"}) {
    INFO(body);
    HttpServer chunked([&](const AskedFor&) {
      return Answer{.headers = {{"transfer-encoding", "chunked"}}, .body = body};
    });
    CHECK_THAT(message_of([&] { read_address(chunked.address() + "/a"); }),
               ContainsSubstring("/a: the server cannot be reached, or cuts off: "));
    CHECK(chunked.asked().size() > 2);  // another attempt might have worked
  }
  HttpServer endless([&](const AskedFor&) { return Answer{.body = "a,y\n1,2\n", .has_length = false}; });
  CHECK(
      message_of([&] { read_address(endless.address() + "/a.csv"); }) ==
      endless.address() +
          "/a.csv: the server does not say where it ends (no Content-Length), so that a file that is cut off "
          "would look whole; use another server");
  CHECK(endless.asked().size() == 1);
}

TEST_CASE("reading goes on where a body was cut off") {
  const std::string content = bytes_of(100'000);
  HttpServer server([&](const AskedFor& request) {
    Answer answer = part_of(content, request, "\"v1\"");
    if (request.header("range") != "bytes=0-0") answer.cut_after = 30'000;
    return answer;
  });
  CHECK(read_address(server.address() + "/a") == content);
  CHECK(server.asked().size() == 5);
  CHECK(server.asked()[2].header("range") == "bytes=30000-99999");
}

TEST_CASE("a server without ranges that always cuts off is given up") {
  int asked = 0;
  HttpServer server([&](const AskedFor&) {
    return Answer{.body = bytes_of(50'000), .cut_after = ++asked % 2 == 0 ? 20'000 : 10'000};
  });
  CHECK_THAT(message_of([&] { read_address(server.address() + "/a"); }), ContainsSubstring("cuts off"));
  CHECK(asked < 12);
}

TEST_CASE("a file that the server encodes is refused") {
  HttpServer server([&](const AskedFor&) {
    return Answer{.headers = {{"content-encoding", "gzip"}}, .body = "squeezed"};
  });
  CHECK(message_of([&] { read_address(server.address() + "/a"); }) ==
        server.address() + "/a: the server sends it encoded (gzip); store it there as it is");
}

TEST_CASE("a server that is busy is asked again, when it wants to be") {
  std::atomic<int> asked = 0;
  HttpServer server([&](const AskedFor& request) {
    if (++asked <= 3)
      return Answer{.status = asked == 1 ? 503 : asked == 2 ? 429 : 500, .headers = {{"retry-after", "1"}}};
    return part_of("hello", request, "\"v1\"");
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK(read_address(server.address() + "/a") == "hello");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(3));

  HttpServer busy([&](const AskedFor&) { return Answer{.status = 503}; });
  CHECK(message_of([&] { read_address(busy.address() + "/a?x=1"); }) ==
        busy.address() +
            "/a: the server answers 503 (4 attempts); copies that were fetched before are used only while "
            "the server says that they are as they were");
  CHECK(code_of([&] { read_address(busy.address() + "/a"); }) == ExitCode::kDisk);
  HttpServer later([&](const AskedFor&) {
    return Answer{.status = 503, .headers = {{"retry-after", "3600"}}};
  });
  CHECK_THAT(message_of([&] { read_address(later.address() + "/a"); }),
             ContainsSubstring("asks to wait 1 h 00 min"));
}

TEST_CASE("a file that changes while it is read is refused by name") {
  const std::string content = bytes_of(100'000);
  for (const bool says_so : {true, false}) {
    std::atomic<int> asked = 0;
    HttpServer server([&](AskedFor request) {
      const std::string etag = ++asked < 3 ? "\"v1\"" : "\"v2\"";
      if (!says_so) request.headers.erase("if-match");
      Answer answer = part_of(content, request, etag);
      if (answer.body.size() > 50'000) answer.cut_after = 50'000;
      return answer;
    });
    const auto read = [&] { read_address(server.address() + "/shards/a.tar"); };
    CHECK_THAT(message_of(read),
               ContainsSubstring("/shards/a.tar: it has changed while dtrain was using it"));
  }
}

TEST_CASE("what cannot work is not tried again, and says what to do") {
  std::atomic<int> status = 403;
  HttpServer server([&](const AskedFor&) { return Answer{.status = status}; });
  const auto read = [&] { read_address(server.address() + "/a?part=7"); };
  CHECK(message_of(read) ==
        server.address() +
            "/a: the server answers 403: the server wants to know who asks; use an address that "
            "everyone may read");
  CHECK(code_of(read) == ExitCode::kUsage);
  status = 404;
  CHECK(message_of(read) ==
        server.address() + "/a: the server answers 404: there is no such file; correct the address");
  CHECK(code_of(read) == ExitCode::kData);
  CHECK(server.asked().size() == 4);
}

TEST_CASE("redirects are followed, a few of them, and to web addresses only") {
  std::string target;
  HttpServer server([&](const AskedFor& request) {
    if (request.path == "/file") return part_of("hello", request, "\"v1\"");
    return Answer{.status = 302, .headers = {{"location", request.path == "/once" ? "/file" : target}}};
  });
  CHECK(read_address(server.address() + "/once") == "hello");
  CHECK(read_address("HTTP" + server.address().substr(4) + "/once") == "hello");
  target = "/again";
  CHECK_THAT(message_of([&] { read_address(server.address() + "/again"); }), ContainsSubstring("redirects"));
  target = "file:///etc/passwd";
  CHECK_THAT(message_of([&] { read_address(server.address() + "/local"); }), ContainsSubstring("protocol"));
}

TEST_CASE("braces stand for several files, whose names have the folders that differ") {
  HttpServer server([&](const AskedFor& request) { return part_of(request.path, request, "\"v1\""); });
  RemoteFiles remote(kQuick);
  std::vector<std::string> names;
  for (const RemoteFile& file : remote.find(server.address() + "/s/{train,test}/{08..10}.tar", kAll))
    names.push_back(file.name);
  CHECK(names == std::vector<std::string>{"train-08.tar", "train-09.tar", "train-10.tar", "test-08.tar",
                                          "test-09.tar", "test-10.tar"});
  CHECK(remote.find(server.address() + "/s/{a,b}.csv", kAll).at(1).name == "b.csv");
  CHECK(remote.find(server.address() + "/s/{a,b}/1.tar", kAll).at(1).name == "b-1.tar");
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/s/{a/b,a-b}/1.tar", kAll); }),
             ContainsSubstring("two of its files would have the name a-b-1.tar"));
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/s/", kAll); }),
             ContainsSubstring("cannot be listed"));
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/{9..1}.tar", kAll); }),
             ContainsSubstring("neither a range"));
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/{1..2", kAll); }),
             ContainsSubstring("not closed"));
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/{0..999}{0..999}", kAll); }),
             ContainsSubstring("more than"));
  CHECK_THAT(message_of([&] { remote.find(server.address() + "/{000000..999999}.tar", kAll); }),
             ContainsSubstring("stands for more than 100000 addresses"));
}

TEST_CASE("a store's objects are listed page by page, whatever is in their keys") {
  const std::vector<std::string> keys = {"p/a=1/b+c d.tar", "p/ünï.tar",   "p/x&lt;y&amp;z.tar", "p/none.txt",
                                         "p/folder/",       "p/._000.tar", "p/.git/a.tar"};
  HttpServer server([&](const AskedFor& request) {
    if (request.path.find("list-type=2") == std::string::npos) return part_of("hello", request, "\"e\"");
    const size_t token = request.path.find("continuation-token=k%2B");
    const size_t first = token == std::string::npos ? 0 : std::stoul(request.path.substr(token + 23));
    std::string xml = "<?xml version=\"1.0\"?><ListBucketResult>";
    for (size_t i = first; i < std::min(first + 2, keys.size()); ++i)
      xml += "<Contents><Key>" + keys[i] + "</Key><ETag>&quot;e&quot;</ETag><Size>5</Size></Contents>";
    const bool more = first + 2 < keys.size();
    xml += std::string("<IsTruncated>") + (more ? "true" : "false") + "</IsTruncated>";
    if (more) xml += "<NextContinuationToken>k+" + std::to_string(first + 2) + "</NextContinuationToken>";
    return Answer{.body = xml + "</ListBucketResult>"};
  });
  const StoreVariables variables(server.address());
  RemoteFiles remote(kQuick);
  const auto files =
      remote.find("s3://bucket/p/", [](const std::string& name) { return name.ends_with(".tar"); });
  REQUIRE(files.size() == 3);
  CHECK(files[0].name == "a=1-b+c d.tar");
  CHECK(files[1].name == "ünï.tar");
  CHECK(files[2].address == "s3://bucket/p/x<y&z.tar");
  CHECK(files[0].version == "\"e\"");
  CHECK(read_all(remote, files[0]) == "hello");
  CHECK(server.asked().back().path == "/bucket/p/a%3D1/b%2Bc%20d.tar");
  CHECK_THAT(server.asked().back().header("authorization"), ContainsSubstring("AKIDEXAMPLE/"));
  CHECK_THAT(server.asked().back().header("authorization"), ContainsSubstring("/eu-west-1/s3/aws4_request"));
}

TEST_CASE("an object that its store decodes is refused where its size is that of a list") {
  HttpServer server([&](const AskedFor& request) {
    if (request.path.find("list-type=2") != std::string::npos)
      return Answer{.body =
                        "<ListBucketResult><Contents><Key>p/a.csv</Key><ETag>&quot;e&quot;</ETag>"
                        "<Size>4</Size></Contents></ListBucketResult>"};
    return Answer{.headers = {{"etag", "\"e\""},
                              {"transfer-encoding", "chunked"},
                              {"x-goog-stored-content-encoding", "gzip"}},
                  .body = "5\r\nhello\r\n0\r\n\r\n"};
  });
  const StoreVariables variables(server.address());
  CHECK(
      message_of([] { read_address("s3://bucket/p/"); }) ==
      "s3://bucket/p/a.csv: the store has it encoded (gzip) and sends it decoded, with another size than in "
      "its list; store it there without Content-Encoding");
  CHECK(read_address("s3://bucket/p/a.csv") == "hello");
}

TEST_CASE("a list that makes no sense is refused, and a long one is not") {
  const auto parse = [](const std::string& xml) { return parse_store_page(xml, "s3://b/p/"); };
  const auto page = [](const std::string& inside) {
    return "<ListBucketResult>" + inside + "</ListBucketResult>";
  };
  for (const std::string& bad :
       {std::string("<html>"), page("<Contents><Key>a</Key>"), page("<Contents><Size>1</Size></Contents>"),
        page("<Contents><Key>&bad;</Key><Size>1</Size></Contents>"),
        page("<Contents><Key>a</Key><Size>-1</Size></Contents>"), page("<IsTruncated>true</IsTruncated>"),
        page("<Contents><Key>&#x110000;</Key><Size>1</Size></Contents>"),
        page("<Contents><Key>a</Key><ETag>&#13;&#10;x: y</ETag><Size>1</Size></Contents>")})
    CHECK_THAT(message_of([&] { parse(bad); }), ContainsSubstring("s3://b/p/: the store's list of objects"));
  CHECK(parse(page("<Contents><Key>&#xE9;&#65;</Key><Size>1</Size></Contents>")).entries.at(0).key == "éA");
  std::string many;
  for (int i = 0; i < 20'000; ++i)
    many += "<Contents><Key>" + std::to_string(i) + "</Key><ETag>x</ETag><Size>1</Size></Contents>";
  CHECK(parse(page(many)).entries.size() == 20'000);
  CHECK(parse(page(many)).entries[7].etag == "\"x\"");
}

TEST_CASE("refusals of a store name the address and the fix, and no secret") {
  std::string code;
  std::atomic<int> status = 403;
  HttpServer server([&](const AskedFor&) {
    return Answer{
        .status = status,
        .body = "<Error><Code>" + code + "</Code><AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId></Error>"};
  });
  const auto read = [&] { return message_of([] { read_address("s3://bucket/a.tar"); }); };
  std::vector<std::string> messages;
  {
    const StoreVariables variables(server.address());
    code = "ExpiredToken";
    status = 400;
    messages.push_back(read());
    CHECK_THAT(messages.back(),
               ContainsSubstring("s3://bucket/a.tar: the server answers 400 ExpiredToken: the keys have "
                                 "expired: get new ones (AWS_ACCESS_KEY_ID and"));
    status = 403;
    code = "SignatureDoesNotMatch";
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("the store does not know these keys"));
    code = "AccessDenied";
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("the keys may not read it"));
  }
  {
    const StoreVariables anonymous(server.address(), "", "");
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("not everyone may read it, and there are no keys"));
    CHECK(server.asked().back().header("authorization").empty());
  }
  {
    const StoreVariables half(server.address(), "AKIDEXAMPLE", "");
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("there is an access key's name without its secret"));
  }
  {
    const StoreVariables broken(server.address(), "AKIDEXAMPLE", "very-secret-key\r\nx: y");
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("characters that keys do not have"));
  }
  {
    const StoreVariables named("http://user:very-secret-key@127.0.0.1:1");
    messages.push_back(read());
    CHECK_THAT(messages.back(), ContainsSubstring("has a user and a password in it"));
  }
  messages.push_back(message_of([&] { read_address("http://user:very-secret-key@127.0.0.1:1/x"); }));
  messages.push_back(
      message_of([&] { read_address("http://127.0.0.1:1/x?X-Amz-Signature=very-secret-key"); }));
  messages.push_back(message_of([&] { read_address("http://127.0.0.1:1/x?other=very-secret-key"); }));
  for (const std::string& message : messages) {
    CHECK(message.find("very-secret") == std::string::npos);
    CHECK(message.find("AKIDEXAMPLE") == std::string::npos);
  }
}

TEST_CASE("keys that are renewed in their file while a job runs are used") {
  const TemporaryFolder folder;
  const auto save_keys = [&](const std::string& id) {
    write_file(folder / "credentials", "[default]\naws_access_key_id = " + id +
                                           "\naws_secret_access_key = secret\naws_session_token = token\n");
  };
  const std::string content = bytes_of(1000);
  std::mutex mutex;
  std::string valid = "ONE";
  HttpServer server([&](const AskedFor& request) {
    const std::lock_guard lock(mutex);
    if (request.header("authorization").find("Credential=" + valid + "/") != std::string::npos)
      return part_of(content, request, "\"v1\"");
    return Answer{.status = 400, .body = "<Error><Code>ExpiredToken</Code></Error>"};
  });
  const StoreVariables store(server.address(), "", "");
  const Variable credentials("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials");
  save_keys("ONE");
  RemoteFiles remote(kQuick);
  const RemoteFile file = remote.find("s3://bucket/a.tar", kAll).at(0);
  CHECK(read_all(remote, file) == content);
  {
    const std::lock_guard lock(mutex);
    valid = "TWO";
  }
  save_keys("TWO");
  CHECK(read_all(remote, file) == content);
  CHECK(server.asked().size() == 4);  // the third one is refused
  {
    const std::lock_guard lock(mutex);
    valid = "THREE";
  }
  save_keys("THREE");
  CHECK(remote.find("s3://bucket/a.tar", kAll).at(0).bytes == std::ssize(content));
  CHECK(server.asked().size() == 6);
  {
    const std::lock_guard lock(mutex);
    valid = "FOUR";
  }
  CHECK_THAT(message_of([&] { read_all(remote, file); }), ContainsSubstring("the keys have expired"));
  CHECK(server.asked().size() == 7);  // the file has no others: it is not asked again
}

TEST_CASE("keys, region and endpoint are those of the usual files, if no variables have them") {
  const TemporaryFolder folder;
  write_file(folder / "credentials",
             "[default]\naws_access_key_id = one\naws_secret_access_key = two=+/\n# x\n"
             "[other]\naws_access_key_id=three\naws_secret_access_key=four\naws_session_token=five\n");
  write_file(folder / "config",
             "[default]\nregion = eu-central-1\ns3 =\n  region = nested\n"
             "[profile other]\nregion=auto\nendpoint_url = http://127.0.0.1:9/\n");
  const StoreVariables none("", "", "");
  const Variable region("AWS_REGION", ""), other_region("AWS_DEFAULT_REGION", "");
  const Variable credentials("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials"),
      config("AWS_CONFIG_FILE", folder / "config");
  const StoreSettings usual = store_settings();
  CHECK(usual.keys.id == "one");
  CHECK(usual.keys.secret == "two=+/");
  CHECK(usual.region == "eu-central-1");
  CHECK(usual.endpoint.empty());
  const Variable profile("AWS_PROFILE", "other");
  const StoreSettings other = store_settings();
  CHECK(other.keys.session == "five");
  CHECK(other.region == "auto");
  CHECK(other.endpoint == "http://127.0.0.1:9");
  const Variable missing("AWS_PROFILE", "third");
  CHECK_THAT(message_of([] { store_settings(); }), ContainsSubstring("AWS_PROFILE: no profile 'third' in"));
}

TEST_CASE("where an object is depends on the store") {
  const StoreSettings aws{{}, "eu-west-1", ""}, own{{}, "auto", "http://minio:9000/base"};
  CHECK(store_request(aws, {"bucket", "a/b c"}, {}, {}).url ==
        "https://bucket.s3.eu-west-1.amazonaws.com/a/b%20c");
  CHECK(store_request(aws, {"my.bucket", "k"}, {}, {}).url ==
        "https://s3.eu-west-1.amazonaws.com/my.bucket/k");
  CHECK(store_request(own, {"bucket", "k"}, {{"a", "b"}}, {}).url == "http://minio:9000/base/bucket/k?a=b");
}

}  // namespace
}  // namespace dtrain
