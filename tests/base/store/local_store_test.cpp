#include "store/local_store.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <ATen/ATen.h>

#include "catch.h"
#include "comm/peer_failure.h"
#include "comm/process_group.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "store/local_store_messages.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<uint8_t>;

constexpr auto kStoreTimeout = 20s;
constexpr uid_t kNobody = 65534;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

// A process that serves a store and does nothing else. To be made while this one has no threads.
class ServingProcess {
 public:
  explicit ServingProcess(std::optional<uid_t> user = std::nullopt) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const Descriptor read(ends[0]);
    Descriptor write(ends[1]);
    process_ = ::fork();
    if (process_ == 0) serve(user, write.get());
    write.reset();
    char name[100];
    const ssize_t got = ::read(read.get(), name, sizeof name);
    if (got > 0) name_.assign(name, static_cast<size_t>(got));
  }
  ~ServingProcess() {
    send(SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ServingProcess(const ServingProcess&) = delete;
  ServingProcess& operator=(const ServingProcess&) = delete;

  const std::string& name() const { return name_; }
  void send(int signal) const { ::kill(process_, signal); }
  void kill_and_reap() const {
    send(SIGKILL);
    siginfo_t ignored;
    ::waitid(P_PID, static_cast<id_t>(process_), &ignored, WEXITED | WNOWAIT);
  }

 private:
  [[noreturn]] static void serve(std::optional<uid_t> user, int name) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      if (user && ::setuid(*user) != 0) ::_exit(1);
      const HostedLocalStore hosted = host_local_store(kStoreTimeout);
      if (::write(name, hosted.name.data(), hosted.name.size()) < 0) ::_exit(1);
      while (true) ::pause();
    } catch (...) {
    }
    ::_exit(1);
  }

  pid_t process_ = -1;
  std::string name_;
};

Descriptor raw_connection(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const AbstractAddress to(name);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) == 0);
  return socket;
}

// Whether the other end has closed it, once it has said so or something else.
bool is_closed_by_peer(const Descriptor& socket) {
  char byte;
  return ::recv(socket.get(), &byte, 1, 0) <= 0;
}

bool has_socket(const std::string& name) {
  std::ifstream file("/proc/net/unix");
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find(" @" + name + "\n") != std::string::npos;
}

TEST_CASE("a local store does all that c10d asks of one, for every process that is connected") {
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  const StorePtr one = connect_local_store(hosted.name, kStoreTimeout);
  const StorePtr other = connect_local_store(hosted.name, kStoreTimeout)->clone();
  const std::string zeros("a\0b\0", 4);

  one->set("key", bytes_of(zeros));
  CHECK(text_of(other->get("key")) == zeros);
  one->set("", Bytes());
  CHECK(other->get("").empty());
  CHECK(other->getNumKeys() == 2);
  CHECK(other->check({"key", ""}));
  CHECK_FALSE(other->check({"key", "none"}));

  CHECK(one->add("sum", 5) == 5);
  CHECK(other->add("sum", -7) == -2);
  CHECK(text_of(one->get("sum")) == "-2");
  CHECK_THROWS_AS(one->add("key", 1), c10::DistStoreError);

  one->append("list", bytes_of("a,"));
  other->append("list", bytes_of("b"));
  CHECK(text_of(one->get("list")) == "a,b");

  CHECK(text_of(one->compareSet("place", bytes_of(""), bytes_of("mine"))) == "mine");
  CHECK(text_of(other->compareSet("place", bytes_of(""), bytes_of("yours"))) == "mine");
  CHECK(text_of(other->compareSet("place", bytes_of("mine"), bytes_of("yours"))) == "yours");
  CHECK(text_of(one->compareSet("elsewhere", bytes_of("x"), bytes_of("y"))) == "x");
  CHECK_FALSE(one->check({"elsewhere"}));

  one->multiSet({"x", "y"}, {bytes_of("1"), bytes_of("2")});
  CHECK(other->multiGet({"y", "x"}) == std::vector<Bytes>{bytes_of("2"), bytes_of("1")});

  CHECK(one->deleteKey("x"));
  CHECK_FALSE(other->deleteKey("x"));
  CHECK(hosted.store->getNumKeys() == 6);  // "key", "", "sum", "list", "place", "y"
}

TEST_CASE("a value of several MiB arrives whole, and one that is too long is refused before it is sent") {
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  const StorePtr client = connect_local_store(hosted.name, kStoreTimeout);
  Bytes large(size_t{7} << 20);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint8_t>(i * 2654435761U >> 24);
  client->set("large", large);
  CHECK(hosted.store->get("large") == large);
  CHECK_THROWS_AS(encode({std::string(kLongestStoreMessage, 'x')}), std::length_error);
}

TEST_CASE("who waits at a local store is answered when the last key is set, or told which were not") {
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  const StorePtr client = connect_local_store(hosted.name, kStoreTimeout);
  std::thread waits([&] { client->wait({"first", "second"}); });
  hosted.store->set("first", bytes_of("1"));
  hosted.store->set("second", bytes_of("2"));
  waits.join();
  try {
    client->wait({"first", "third"}, 50ms);
    FAIL("nobody set the third");
  } catch (const c10::DistStoreError& error) {
    CHECK_THAT(std::string(error.what_without_backtrace()), ContainsSubstring("nobody set third"));
  }
  client->setTimeout(50ms);
  CHECK_THROWS_AS(client->get("third"), c10::DistStoreError);
  CHECK(text_of(client->get("second")) == "2");  // it is of use as before
}

TEST_CASE("ranks count at a local store together") {
  constexpr int kRanks = 8;
  constexpr int kRounds = 300;
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      // Some share a connection.
      const StorePtr store = rank % 2 == 0 ? hosted.store : connect_local_store(hosted.name, kStoreTimeout);
      for (int i = 0; i < kRounds; ++i) store->add("count", 1);
      if (store->add("here", 1) == kRanks) store->set("all", bytes_of("yes"));
      store->clone()->wait({"all"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(hosted.store->add("count", 0) == kRanks * kRounds);
}

TEST_CASE("gloo meets at a local store") {
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  std::vector<float> sums(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto store =
          c10::make_intrusive<c10d::PrefixStore>("run", connect_local_store(hosted.name, kStoreTimeout));
      const auto group = make_group("gloo", store, rank, 3, kStoreTimeout);
      at::Tensor tensor = at::full({1000}, rank + 1.0F);
      group->all_reduce_sum(tensor);
      group->barrier();
      sums[static_cast<size_t>(rank)] = tensor[999].item<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<float>{6, 6, 6});
}

TEST_CASE("a local store whose process is killed is missed at once, and leaves nothing behind") {
  const ServingProcess serving;
  REQUIRE(has_socket(serving.name()));
  const StorePtr client = connect_local_store(serving.name(), 60s);
  const StorePtr other = client->clone();
  std::string failure;
  std::thread waits([&] { failure = peer_failure_of([&] { wait_for_key(client, "never"); }); });
  const double before = steady_seconds();
  serving.kill_and_reap();
  waits.join();
  CHECK(steady_seconds() - before < 5);
  CHECK_THAT(failure, ContainsSubstring("has ended"));
  CHECK_THROWS_AS(other->set("key", bytes_of("value")), c10::DistNetworkError);
  CHECK_THROWS_AS(other->check({"key"}), c10::DistNetworkError);
  CHECK_FALSE(has_socket(serving.name()));
  CHECK_THAT(peer_failure_of([&] { connect_local_store(serving.name(), kStoreTimeout); }),
             ContainsSubstring("refused"));
}

TEST_CASE("a local store whose process stands still is given up after the timeout") {
  const ServingProcess serving;
  const StorePtr client = connect_local_store(serving.name(), 200ms);
  serving.send(SIGSTOP);
  CHECK_THAT(peer_failure_of([&] { wait_for_ranks(client, 0, 2, 100ms); }),
             ContainsSubstring("no answer within"));
}

TEST_CASE("one that waits at a local store and goes away, or talks nonsense, disturbs nobody") {
  const HostedLocalStore hosted = host_local_store(kStoreTimeout);
  {
    const Descriptor gone = raw_connection(hosted.name);
    const std::string bytes = encode({"w", "0", "key"});
    REQUIRE(::send(gone.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
  }
  const auto is_cut_off = [&](const std::string& bytes) {
    const Descriptor stranger = raw_connection(hosted.name);
    ::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return is_closed_by_peer(stranger);
  };
  CHECK(is_cut_off(std::string(100, '\xff')));  // longer than any message
  const std::string wait = encode({"w", "0", "nobody sets it"});
  CHECK(is_cut_off(wait + wait));  // a request while another one is waited for
  std::string torn = encode({"s", "key", "value"});
  torn[8] = 100;  // a field that ends behind its message
  CHECK(is_cut_off(torn));
  for (const StoreMessage& wrong :
       std::vector<StoreMessage>{{}, {"s", "key"}, {"?"}, {"a", "key", "one"}, {"wx"}}) {
    const Descriptor stranger = raw_connection(hosted.name);
    const std::string bytes = encode(wrong);
    REQUIRE(::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
    std::string answer(200, '\0');
    const ssize_t got = ::recv(stranger.get(), answer.data(), answer.size(), 0);
    REQUIRE(got > 0);
    answer.resize(static_cast<size_t>(got));
    CHECK(take_message(answer).value().at(0) == kStoreRefused);
  }
  hosted.store->set("key", bytes_of("value"));
  CHECK(text_of(hosted.store->get("key")) == "value");
}

TEST_CASE("a local store is for processes of its user alone, and so are those that ask it") {
  if (::geteuid() != 0) {
    WARN("not run as root: cannot become another user");
    return;
  }
  const ServingProcess of_another(kNobody);
  REQUIRE_FALSE(of_another.name().empty());
  CHECK_THAT(peer_failure_of([&] { connect_local_store(of_another.name(), kStoreTimeout); }),
             ContainsSubstring("belongs to another user"));
  const ServingProcess own;
  const auto as_nobody = [](const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        ::_exit(::setuid(kNobody) == 0 && body() ? 0 : 1);
      } catch (...) {
        ::_exit(2);
      }
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  // One that does without our own check is cut off by the store.
  CHECK(as_nobody([&] { return is_closed_by_peer(raw_connection(own.name())); }));
  CHECK(as_nobody([&] {
    return peer_failure_of([&] {
             connect_local_store(own.name(), kStoreTimeout)->set("key", bytes_of("forged"));
           }) != "none";
  }));
  CHECK_FALSE(connect_local_store(own.name(), kStoreTimeout)->check({"key"}));
}

}  // namespace
}  // namespace dtrain
