#include "checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "checkpoint/retention.h"
#include "checkpoints.h"
#include "core/random.h"
#include "files.h"
#include "ordinary_user.h"
#include "same_tensors.h"
#include "sanitized.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

TEST_CASE("checkpoints are saved one after the other, and old ones go") {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder / "checkpoints", keeping(2));
  for (const int64_t step : {1, 2, 3, 4, 5}) writer.save(small_checkpoint(step));
  writer.finish();
  CHECK(names_in(folder / "checkpoints") == std::vector<std::string>{"step-000000004", "step-000000005"});
  CHECK(
      same_tensors(load_checkpoint(folder / "checkpoints/step-000000005").model, small_checkpoint(5).model));
  CHECK_NOTHROW(writer.finish());
}

TEST_CASE("the end of a writer waits for what it writes") {
  const TemporaryFolder folder;
  { CheckpointWriter(folder.path(), {}).save(small_checkpoint(1)); }
  CHECK_NOTHROW(load_checkpoint(folder / "step-000000001"));
}

TEST_CASE("what a checkpoint builds on is settled before it appears") {
  const TemporaryFolder folder;
  std::vector<size_t> there;
  CheckpointWriter writer(folder / "checkpoints", keeping(2),
                          [&] { there.push_back(list_checkpoints(folder / "checkpoints").size()); });
  for (const int64_t step : {1, 2}) writer.save(small_checkpoint(step));
  writer.finish();
  CHECK(there == std::vector<size_t>{0, 1});
}

TEST_CASE("an error comes with the next call, once, and writing goes on after it") {
  const TemporaryFolder folder;
  CheckpointWriter writer(folder / "checkpoints", {});
  write_file(folder / "checkpoints", "a file in its place");
  CHECK_NOTHROW(writer.save(small_checkpoint(1)));
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { writer.save(small_checkpoint(2)); }),
             ContainsSubstring("Not a directory"));
  fs::remove(folder / "checkpoints");
  CHECK_NOTHROW(writer.save(small_checkpoint(3)));
  CHECK_NOTHROW(writer.finish());
  CHECK(names_in(folder / "checkpoints") == std::vector<std::string>{"step-000000003"});
}

TEST_CASE("leftovers go when a writer begins") {
  const TemporaryFolder folder;
  fs::create_directory(folder / ".step-000000002.new-77");
  const CheckpointWriter writer(folder.path(), {});
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("old checkpoints that cannot be removed do not stop the writer, and go once they can") {
  const TemporaryFolder folder;
  const OrdinaryUser user(folder.path());
  if (!user.exists()) return;
  for (const int64_t step : {1, 2, 3}) save_checkpoint(folder.path(), small_checkpoint(step));
  const fs::path held = folder / "step-000000002/held";
  fs::create_directory(held);
  write_file(held / "file", "");
  fs::permissions(held, fs::perms::owner_read | fs::perms::owner_exec);
  remove_old_checkpoints(folder.path(), 3, keeping(1));
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { remove_leftovers(folder.path()); }),
             ContainsSubstring("step-000000002") && ContainsSubstring("Permission denied"));
  const std::vector<std::string> left = names_in(folder.path());
  REQUIRE(left.size() == 2);
  CHECK(left[0].starts_with(".step-000000002.old-"));
  CHECK(left[1] == "step-000000003");

  std::vector<std::string> warnings;
  CheckpointWriter writer(
      folder.path(), keeping(1), [] {}, [&](const std::string& text) { warnings.push_back(text); });
  for (const int64_t step : {4, 5}) writer.save(small_checkpoint(step));
  writer.finish();
  CHECK(names_in(folder.path()) == std::vector<std::string>{left[0], "step-000000005"});
  REQUIRE(warnings.size() == 1);  // and not one for each checkpoint
  CHECK_THAT(warnings[0], ContainsSubstring(left[0]) && ContainsSubstring("is tried again later"));
  fs::permissions(folder / left[0] / "held", fs::perms::owner_all);
  writer.save(small_checkpoint(6));
  writer.finish();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step-000000006"});
  CHECK(warnings.size() == 1);
}

// A process that saves checkpoints of increasing steps until it is killed; it says through `told` when each
// is saved.
[[noreturn]] void save_for_ever(const fs::path& folder, int64_t step, const at::Tensor& large, int told) {
  try {
    CheckpointWriter writer(folder, keeping(1, {"accuracy", "auto"}));
    for (;; ++step) {
      Checkpoint checkpoint = small_checkpoint(step);
      checkpoint.optimizer.emplace_back("large", large);
      writer.save(std::move(checkpoint));
      writer.finish();
      if (::write(told, &step, sizeof(step)) != sizeof(step)) break;
    }
  } catch (...) {
  }
  ::_exit(1);
}

// Kills at many moments of the writing, which are spread over it by chance; what they hit does not matter to
// the claim.
TEST_CASE("killed at any moment, it leaves a good checkpoint, the last it told of or a later one") {
  const TemporaryFolder folder;
  RandomGenerator random(7);
  const at::Tensor large = at::ones({100000}, at::kDouble);  // made here: a fork has no OpenMP threads
  int64_t told_last = 0;
  int unfinished = 0;
  constexpr int kKills = few_if_sanitized(200, 40);
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) save_for_ever(folder.path(), told_last + 1, large, ends[1]);
    ::close(ends[1]);
    int64_t told = 0;
    REQUIRE(::read(ends[0], &told, sizeof(told)) == sizeof(told));
    ::usleep(static_cast<useconds_t>(random.below(8000)));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    do told_last = told;
    while (::read(ends[0], &told, sizeof(told)) == sizeof(told));
    ::close(ends[0]);

    for (const std::string& name : names_in(folder.path())) unfinished += name[0] == '.';
    const fs::path latest = latest_good_checkpoint(
        folder.path(), [](const std::string& warning) { FAIL_CHECK("a damaged one: " << warning); });
    const Checkpoint checkpoint = load_checkpoint(latest);
    CHECK(checkpoint.state.step >= told_last);
    CHECK(checkpoint.optimizer.size() == 5);
    told_last = checkpoint.state.step;
  }
  CHECK(unfinished > kKills / 10);  // many of the kills did come in the middle
}

// The system calls that a child makes while it does `work`, up to the one before which it is killed.
class TracedChild {
 public:
  explicit TracedChild(const std::function<void()>& work) : process_(::fork()) {
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kRefused);
      ::raise(SIGSTOP);
      work();
      ::_exit(0);
    }
    wait();
    if (!has_ended())
      ::ptrace(PTRACE_SETOPTIONS, process_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  }
  ~TracedChild() {
    if (has_ended()) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  TracedChild(const TracedChild&) = delete;
  TracedChild& operator=(const TracedChild&) = delete;

  bool was_refused() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == kRefused; }
  bool has_ended() const { return WIFEXITED(status_) || WIFSIGNALED(status_); }
  // Goes on to the beginning of the next system call, from the beginning of one.
  void go_on() {
    for (int stop = inside_ ? 2 : 1; stop > 0 && !has_ended(); --stop) {
      ::ptrace(PTRACE_SYSCALL, process_, nullptr, nullptr);
      wait();
    }
    inside_ = true;
  }

 private:
  static constexpr int kRefused = 77;
  void wait() { REQUIRE(::waitpid(process_, &status_, 0) == process_); }

  pid_t process_;
  int status_ = 0;
  bool inside_ = false;
};

// In the middle of a file, between files, before and after the rename, and while an old checkpoint is
// removed.
TEST_CASE("killed before any of its system calls, it leaves the old checkpoint or the new one, each whole") {
  const int64_t step = GENERATE(1, 2);  // in the place of the old one, or beside it
  Checkpoint fresh = small_checkpoint(step);
  fresh.optimizer.emplace_back("more", at::ones({30000}, at::kDouble));
  int calls = 0, unfinished = 0;
  std::set<int64_t> tensors;  // of the good checkpoint, after each kill
  for (bool done = false; !done; ++calls) {
    const TemporaryFolder folder;
    save_checkpoint(folder.path(), small_checkpoint(1));
    {
      TracedChild child([&] {
        save_checkpoint(folder.path(), fresh);
        remove_old_checkpoints(folder.path(), step, keeping(1));
      });
      if (child.was_refused()) {
        WARN("not checked: processes cannot be traced here");
        return;
      }
      for (int call = 0; call <= calls && !child.has_ended(); ++call) child.go_on();
      done = child.has_ended();
    }
    INFO("call " << calls);
    for (const std::string& name : names_in(folder.path())) unfinished += name[0] == '.';
    const auto warned = [](const std::string& warning) { FAIL_CHECK("a damaged one: " << warning); };
    const Checkpoint left = load_checkpoint(latest_good_checkpoint(folder.path(), warned));
    const bool is_new = left.optimizer.size() == fresh.optimizer.size();
    const Checkpoint& expected = is_new ? fresh : small_checkpoint(1);
    CHECK(same_tensors(left.model, expected.model));
    CHECK(same_tensors(left.optimizer, expected.optimizer));
    tensors.insert(static_cast<int64_t>(left.optimizer.size()));
    CHECK((!done || names_in(folder.path()) == std::vector<std::string>{checkpoint_name(step)}));
    CheckpointWriter next(folder.path(), keeping(1));
    next.save(small_checkpoint(3));
    next.finish();
    CHECK(names_in(folder.path()) == std::vector<std::string>{checkpoint_name(3)});
  }
  CHECK(tensors.size() == 2);
  CHECK(calls > 20);
  CHECK(unfinished > 5);
}

}  // namespace
}  // namespace dtrain
