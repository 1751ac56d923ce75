// Bits that flip in the memory of a running replica: the job ends, names who it was, and has saved nothing of
// it.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "core/descriptor.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A learning rate so small that weights stay as they were made, bit for bit: what is in a checkpoint is what
// is in memory. Some pixels of synthetic images are never 0; a huge weight would show in the loss at once.
const char* const kCorruptionSpec = R"(name: corrupt
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 4000, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [64]}
train: {epochs: 1000000, optimizer: {kind: sgd, learning_rate: 1.0e-30}}
evaluate: {every_epochs: 1000000}
checkpoint: {every_steps: 50, keep: 1000}
checks: {every_steps: 20}
)";

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// Flips one bit of each place in the process's writable memory that holds `pattern`; returns how many.
int flip_in_memory(pid_t process, const std::string& pattern, size_t byte, char bit) {
  const fs::path proc = fs::path("/proc") / std::to_string(process);
  const Descriptor memory(::open((proc / "mem").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(memory.get() >= 0);  // who runs the tests may trace processes of his own
  std::ifstream maps(proc / "maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char readable = 0, writable = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c", &begin, &end, &readable, &writable) != 4) continue;
    if (readable != 'r' || writable != 'w') continue;
    std::string content(end - begin, '\0');
    const ssize_t got = ::pread(memory.get(), content.data(), content.size(), static_cast<off_t>(begin));
    if (got <= 0) continue;  // such as what a device maps
    content.resize(static_cast<size_t>(got));
    for (size_t at = content.find(pattern); at != std::string::npos; at = content.find(pattern, at + 1)) {
      const auto flipped = static_cast<char>(content[at + byte] ^ bit);
      REQUIRE(::pwrite(memory.get(), &flipped, 1, static_cast<off_t>(begin + at + byte)) == 1);
      ++found;
    }
  }
  return found;
}

// The first checkpoint's first tensor of more than one dimension.
at::Tensor weights_of(const Job& job) {
  REQUIRE(eventually(60, [&] { return !list_checkpoints(checkpoints_of(job)).empty(); }));
  for (const auto& [name, tensor] :
       load_checkpoint(list_checkpoints(checkpoints_of(job)).front().path).model) {
    if (tensor.dim() > 1) return tensor;
  }
  FAIL("the checkpoint has no weights");
  return {};
}

void flip_a_bit(const Job& job, int rank, const at::Tensor& weights) {
  const pid_t victim = job.wait_for_replica(rank).process;
  ::kill(victim, SIGSTOP);
  CHECK(flip_in_memory(victim, bytes_of(weights), 4 * 5, 1) > 0);  // the last bit of element 5
  ::kill(victim, SIGCONT);
}

TEST_CASE("a job whose replicas disagree goes on by itself from before that") {
  const Job job(kCorruptionSpec);
  Program program(job.run(Job::set({"strategy.communication=gloo"})));
  const at::Tensor weights = weights_of(job);
  flip_a_bit(job, 1, weights);
  REQUIRE(eventually(kSoon, [&] { return !job.events("restart").empty(); }));
  job.wait_for_replica(0);
  program.send(SIGTERM);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 75);
  CHECK(job.events("restart").size() == 1);
  CHECK(job.event("restart", "distributed").at("exit_code") == 10);
  for (const SavedCheckpoint& checkpoint : list_checkpoints(checkpoints_of(job))) {
    for (const auto& [name, tensor] : load_checkpoint(checkpoint.path).model) {
      if (tensor.sizes() == weights.sizes()) CHECK(at::equal(tensor, weights));
    }
  }
}

TEST_CASE("a flipped bit of a replica's weights ends the job, which goes on from before it") {
  struct Case {
    int replicas, rank;
    const char* said;
  };
  // Without restarts: with them the job would go on.
  const Arguments gloo = Job::set({"strategy.communication=gloo", "restarts.max=0"});
  const auto [replicas, rank, said] =
      GENERATE(Case{2, 1, "memory of one of rank 0 on host "}, Case{3, 1, "memory of rank 1 on host "},
               Case{3, 0, "memory of rank 0 on host "});
  const Job job(kCorruptionSpec);
  Program program(job.run(gloo + Job::set({fmt::format("strategy.replicas={}", replicas)})));
  const at::Tensor weights = weights_of(job);
  flip_a_bit(job, rank, weights);
  const Finished end = program.wait(60);
  INFO(end.output << end.errors);
  CHECK(end.exit_code == 10);
  CHECK_THAT(end.errors, ContainsSubstring(said) && ContainsSubstring("nothing of it was saved"));
  if (replicas == 2) CHECK_THAT(end.errors, ContainsSubstring(", rank 1 on host "));
  const auto saved = list_checkpoints(checkpoints_of(job));
  CHECK_THAT(last_line(end.errors),
             ContainsSubstring("to resume from step ") &&
                 ContainsSubstring("dtrain run --resume " + job.run_folder().string()));
  for (const SavedCheckpoint& checkpoint : saved) {
    CHECK_FALSE(checkpoint.suspect);
    bool same = false;
    for (const auto& [name, tensor] : load_checkpoint(checkpoint.path).model)
      same = same || (tensor.sizes() == weights.sizes() && at::equal(tensor, weights));
    CHECK(same);
  }
  CHECK(job.event("run_end", "distributed").at("exit_code") == 10);
  CHECK(job.is_gone(0));

  const Finished resumed = run_program({"run", "--resume", job.run_folder().string(), "--set",
                                        fmt::format("train.max_steps={}", saved.back().step + 30)});
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
}

}  // namespace
}  // namespace dtrain
