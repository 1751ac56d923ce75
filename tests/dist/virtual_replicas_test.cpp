// strategy.virtual_replicas: the same bytes with any number of replicas, however they are joined, through
// kills and resumes.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <map>
#include <memory>

#include "catch.h"
#include "checkpoint/retention.h"
#include "core/sockets.h"
#include "hosts.h"
#include "resumable.h"

namespace dtrain {
namespace {

const std::string kSmallImages =
    "data: {dataset: synthetic, train_examples: 200, test_examples: 50, shape: [1, 12, 12], classes: 4";

// Each draws, remembers or adds up something of its own. The last step of an epoch has a part without
// examples.
std::vector<std::pair<std::string, std::string>> cases() {
  return {
      {"dense layers with clipping and averages",
       kSmallImages + "}\nmodel: {kind: mlp, hidden: [200, 50]}\n"
                      "train: {epochs: 3, clip_norm: 0.5, ema: {decay: 0.9}, "
                      "optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9}}\n"},
      {"convolutions with dropout",
       kSmallImages + "}\nmodel: {kind: cnn, filters: [8, 16], hidden: [32], dropout: 0.3}\n"
                      "train: {epochs: 3, optimizer: {kind: adam}}\n"},
      {"a residual network with batch_norm, augmentation and mixup",
       kSmallImages + ", augment: [{kind: random_crop, padding: 1}, {kind: mixup, alpha: 0.3}]}\n"
                      "model: {kind: cifar_resnet, depth: 20}\n"
                      "train: {epochs: 1, optimizer: {kind: adamw, learning_rate: 0.002}}\n"},
      {"phases, the first from kept features",
       kSmallImages + "}\nmodel: {kind: cifar_resnet, depth: 20, include_top: false}\n"
                      "phases:\n  - {trainable: head, epochs: 2, learning_rate: 0.01}\n"
                      "  - {trainable: all, epochs: 1, learning_rate: 0.001}\n"},
      {"eager steps", kSmallImages + "}\nmodel: {kind: cnn, filters: [8], hidden: [16], dropout: 0.3}\n"
                                     "train: {epochs: 2, step: eager, optimizer: {kind: rmsprop}}\n"},
      {"attention, with dropout of its weights and of whole examples",
       kSmallImages + "}\nmodel: {kind: layers, layers: [{kind: patch_embedding, patch: 4, units: 12}, "
                      "{kind: class_token}, {kind: positional_embedding, name: embedded}, "
                      "{kind: group_norm, groups: 3}, "
                      "{kind: attention, heads: 3, dropout: 0.2}, {kind: stochastic_depth, rate: 0.3}, "
                      "{kind: add, with: embedded}, {kind: first_token}, {kind: dense, units: 4}]}\n"
                      "train: {epochs: 3, optimizer: {kind: adamw}}\n"},
  };
}

const char* const kRest = R"(name: virtual
strategy: {kind: mirrored, virtual_replicas: 8}
batch: {per_replica: 2}
checkpoint: {final: true}
metrics: {every_steps: 5}
)";

Arguments replicas(int count) { return Job::set({fmt::format("strategy.replicas={}", count)}); }

// What training adds up, without what tells of replicas and times.
std::vector<std::string> sums_of(const Job& job) {
  std::vector<std::string> sums;
  for (const char* kind : {"step", "epoch", "eval"}) {
    for (const Event& event : job.events(kind, "distributed")) {
      Event kept;
      for (const char* name : {"event", "step", "epoch", "loss", "accuracy", "gradient_norm", "macro_f1"}) {
        if (event.contains(name)) kept[name] = event[name];
      }
      sums.push_back(event_text(kept));
    }
  }
  return sums;
}

// Each case trained by one replica; made once.
const Job& one_of(const std::string& name, const std::string& spec) {
  static std::map<std::string, std::unique_ptr<Job>> jobs;
  std::unique_ptr<Job>& job = jobs[name];
  if (!job) {
    job = std::make_unique<Job>(spec);
    require_done(run_program(job->run(replicas(1))));
    REQUIRE(sums_of(*job).size() >= 5);
  }
  return *job;
}

// All numbers for one of the cases, and for the others one that leaves replicas with one part and with parts
// of several nodes.
std::vector<int> many_of(const std::string& name) {
  return name == cases().front().first ? std::vector<int>{2, 3, 4, 7} : std::vector<int>{5};
}

void check_same(const Job& job, const Job& other) {
  CHECK(result_of(job) == result_of(other));
  CHECK(sums_of(job) == sums_of(other));
}

TEST_CASE("any number of replicas comes to the same bytes, however they are joined") {
  size_t number = 0;
  for (const auto& [name, own] : cases()) {
    INFO(name);
    const std::string spec = kRest + own;
    const Job& one = one_of(name, spec);
    for (const int count : many_of(name)) {
      INFO(count << " replicas");
      const Job many(spec);
      require_done(run_program(many.run(replicas(count))));
      check_same(many, one);
    }
    std::vector<std::pair<int, Arguments>> joined = {
        {1, Job::set({"strategy.threads_per_replica=3"})},
        {3, Job::set({"strategy.communication=gloo"})},
        {2, Job::set({"strategy.kind=central_storage"})},
    };
    // What sums over replicas knows nothing of layers: the first case has all ways, each other one in turn.
    if (number > 0) joined.erase(joined.begin() + 1 + static_cast<ptrdiff_t>(number % 2));
    ++number;
    for (const auto& [count, how] : joined) {
      INFO(how.back());
      const Job many(spec);
      require_done(run_program(many.run(replicas(count) + how)));
      check_same(many, one);
    }
  }
}

TEST_CASE("replicas on two and three hosts come to the same bytes") {
  for (const auto& [name, own] : cases()) {
    INFO(name);
    const std::string spec = kRest + own;
    const Job& one = one_of(name, spec);
    const bool all = name == cases().front().first;
    for (const auto& [count, on_hosts] : {std::pair(4, 2), {3, 3}, {2, 2}}) {
      if (!all && count != 4) continue;
      INFO(count << " replicas on " << on_hosts << " hosts");
      const Job many(spec);
      Hosts hosts(many, on_hosts);
      for (int host = on_hosts - 1; host >= 0; --host) hosts.start(host, replicas(count));
      for (int host = 0; host < on_hosts; ++host) require_done(hosts.wait(host));
      check_same(many, one);
    }
  }
}

std::string long_spec() {
  return replace_once(kResumableSpec, "{kind: mirrored, replicas: 2, threads_per_replica: 1}",
                      "{kind: mirrored, virtual_replicas: 8}");
}

const Job& long_run() {
  static const Job job(long_spec());
  static const Finished run = run_program(job.run(replicas(1)));
  require_done(run);
  return job;
}

TEST_CASE("a job that is stopped goes on with another number of replicas, to the same bytes") {
  const Job job(long_spec());
  const auto resume = [&](int count) {
    return Arguments{"run", "--resume", job.run_folder().string()} + replicas(count);
  };
  {
    Program program(job.run(replicas(3)));
    wait_for_checkpoint(job, 100);
    program.send(SIGTERM);
    CHECK(program.wait().exit_code == 75);
  }
  {
    Program program(resume(2));
    wait_for_checkpoint(job, 400);
    program.send(SIGKILL);
    program.wait();
    CHECK(job.is_gone());
  }
  require_done(run_program(resume(4)));
  CHECK(result_of(job) == result_of(long_run()));
}

TEST_CASE("dtrain resize changes the number of replicas while a job runs, to the same bytes") {
  const Job job(long_spec());
  const Arguments endless = Job::set({"train.epochs=100000"});
  Program program(job.run(replicas(2) + endless));
  wait_for_checkpoint(job, 100);
  const auto resize = [&](int count) {
    return run_program({"resize", job.run_folder().string(), "--replicas", std::to_string(count)});
  };
  const Finished more = resize(3);
  require_done(more);
  CHECK(more.output == job.run_folder().string() + " goes on with 3 replicas (before: 2)\n");
  CHECK_THAT(resize(9).errors, ContainsSubstring("strategy.virtual_replicas: 8"));
  // The command returns when their processes start.
  REQUIRE(
      eventually(kSoon, [&] { return job.events("run_start", "distributed").back().at("replicas") == 3; }));
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 75);
  CHECK(job.event("restart", "distributed").at("error") == "dtrain resize: 3 replicas instead of 2");
  CHECK(job.is_gone(0));
  const Job alone(long_spec());
  const int64_t steps = list_checkpoints(checkpoints_of(job)).back().step;
  require_done(
      run_program(alone.run(replicas(1) + endless + Job::set({fmt::format("train.max_steps={}", steps)}))));
  CHECK(result_of(job) == result_of(alone));
  CHECK_THAT(resize(2).errors,
             ContainsSubstring("no dtrain trains this job on one host with "
                               "strategy.virtual_replicas now; a stopped job that has them goes on with "
                               "another number: dtrain run --resume "));
  for (const auto& entry : std::filesystem::directory_iterator(job.run_folder()))
    CHECK_FALSE(entry.path().filename().string().starts_with("replicas."));
}

TEST_CASE("a resize whose checkpoint finds no room ends the job, and says why") {
  const Job job(long_spec());
  Program program(job.run(
      replicas(2) + Job::set({"train.epochs=100000", "checkpoint.every_steps=none", "callbacks.csv=false"})));
  job.wait_for_step();
  const rlimit small{9000, 9000};  // less than a checkpoint's, for what rank 0 writes from now on
  REQUIRE(::prlimit(job.wait_for_replica(0).process, RLIMIT_FSIZE, &small, nullptr) == 0);
  CHECK_THAT(run_program({"resize", job.run_folder().string(), "--replicas", "3"}).errors,
             ContainsSubstring("the job has ended with as many replicas as before"));
  const Finished ended = program.wait();
  CHECK(ended.exit_code == 9);
  CHECK_THAT(ended.errors, ContainsSubstring("rank 0 failed: ") && ContainsSubstring("File too large"));
  CHECK(job.events("restart").empty());
}

TEST_CASE("a killed replica is replaced, to the bytes of one replica") {
  const Job job(long_spec());
  Program program(job.run(replicas(3)));
  wait_for_checkpoint(job, 100);
  ::kill(job.wait_for_replica(2).process, SIGKILL);
  require_done(program.wait());
  CHECK(job.events("restart", "distributed").size() == 1);
  CHECK(result_of(job) == result_of(long_run()));
}

// A death between the sum and the end of the update costs the steps since the newest checkpoint, but such a
// step is nearly all computing.
TEST_CASE("a replica that dies while it computes costs no step before, whatever checkpoints are due") {
  const std::string spec =
      std::string(kRest) +
      "data: {dataset: synthetic, train_examples: 400, test_examples: 50, shape: [1, 28, 28], classes: 4}\n"
      "model: {kind: cnn, filters: [32, 64], hidden: [], dropout: 0.3}\n"
      "train: {epochs: 12, step: eager, ema: {decay: 0.9}, optimizer: {kind: adam}}\n"
      "restarts: {max: 3, backoff_seconds: 0}\n";
  const Job job(spec);
  Program program(job.run(replicas(3)));
  const auto restarts = [&] { return job.events("restart", "distributed"); };
  for (int64_t kills = 0; kills < 3; ++kills) {
    REQUIRE(eventually(60, [&] {  // agrees only now and then, and never dies twice at the same step
      const std::vector<Event> made = restarts(), steps = job.events("step", "distributed");
      const int64_t from = made.empty() ? 0 : made.back().at("step").get<int64_t>();
      return std::ssize(made) == kills && !steps.empty() && steps.back().at("step") >= from + 30 + 20 * kills;
    }));
    ::kill(job.wait_for_replica(2).process, SIGKILL);
  }
  require_done(program.wait());
  int kept = 0;
  int64_t before = 0;
  for (const Event& restart : restarts()) {
    const int64_t step = restart.at("step");
    kept += step > before ? 1 : 0;  // else it is the checkpoint of the restart before
    before = step;
  }
  CHECK(kept >= 1);
  const Job alone(spec);
  require_done(run_program(alone.run(replicas(1))));
  check_same(job, alone);
}

// Returns from where it went on.
int64_t lose_a_host() {
  const Job job(long_spec());
  Hosts hosts(job, 3);
  const Arguments fewer = Job::set({"restarts.min_replicas=2", "checkpoint.every_steps=100000"});
  for (int host = 2; host >= 0; --host) hosts.start(host, replicas(3) + fewer);
  REQUIRE(eventually(60, [&] {  // by then the replicas agree only now and then
    const std::vector<Event> steps = job.events("step", "distributed");
    return !steps.empty() && steps.back().at("step") > 100;
  }));
  hosts.program(1).send(SIGKILL);
  const Finished first = hosts.wait(0);
  require_done(first);
  require_done(hosts.wait(2));
  CHECK_THAT(first.errors, ContainsSubstring("going on with 2 replicas on 127.0.0.1, 127.0.0.3") &&
                               !ContainsSubstring("waiting"));
  CHECK(job.events("run_start", "distributed").back().at("replicas") == 2);
  check_same(job, long_run());
  return job.event("restart", "distributed").at("step");
}

// A host that is lost between two steps, while all agree on what to do, costs the steps since the newest
// checkpoint, of which there is none here. That is rare.
TEST_CASE("a job goes on without a lost host from the step that was lost, to the same bytes") {
  CHECK((lose_a_host() > 0 || lose_a_host() > 0 || lose_a_host() > 0));
}

// A job on three hosts, of which at least two have to be there, that goes on until it is stopped.
class ChangingHosts {
 public:
  ChangingHosts() {
    for (int host = 2; host >= 0; --host) start(host);
    wait_for_checkpoint(job, 200);
  }
  Program& start(int host, const Arguments& more = {}, const std::string& token = "a token for all hosts") {
    return hosts.start(host, replicas(3) + Job::set(kSet) + more, token);
  }
  void lose(int host) {
    hosts.program(host).send(SIGKILL);  // its replica dies with it
    hosts.wait(host);
  }
  // Waits for the start with these numbers, and then for a step.
  void wait_for(size_t restarts, int count) const {
    REQUIRE(eventually(60, [&] { return job.events("restart", "distributed").size() >= restarts; }));
    const int64_t step = job.events("restart", "distributed").back().at("step");
    wait_for_checkpoint(job, step + 200);
    CHECK(job.events("run_start", "distributed").back().at("replicas") == count);
  }
  // Stops the job, and compares it with one replica that trains as many steps.
  void check_bytes() {
    hosts.program(0).send(SIGTERM);
    for (int host = 0; host < 3; ++host) {
      const Finished end = hosts.wait(host);
      INFO(end.errors);
      CHECK((end.exit_code == 75 || end.exit_code == 128 + SIGKILL));
    }
    CHECK(job.is_gone(0));
    const Job one(long_spec());
    const int64_t steps = list_checkpoints(checkpoints_of(job)).back().step;
    const Arguments as_many = Job::set(kSet) + Job::set({fmt::format("train.max_steps={}", steps)});
    require_done(run_program(one.run(replicas(1) + as_many)));
    CHECK(result_of(job) == result_of(one));
  }
  std::string error(size_t restart) const {
    return job.events("restart", "distributed").at(restart).at("error");
  }

  const Job job{long_spec()};
  Hosts hosts{job, 3};

 private:
  inline static const Arguments kSet = {"train.epochs=100000", "metrics.every_steps=200",
                                        "checkpoint.every_steps=200", "checkpoint.keep=4",
                                        "restarts.min_replicas=2"};
};

TEST_CASE("a lost host that is started again joins the others, to the same bytes") {
  ChangingHosts all;
  all.lose(1);
  all.wait_for(1, 2);
  CHECK_THAT(all.error(0), ContainsSubstring("host 127.0.0.2 ") && ContainsSubstring("is gone"));
  // Strangers change nothing.
  std::string why;
  const auto port = static_cast<uint16_t>(std::stoi(all.hosts.port()));
  const Descriptor silent = connect_to(kHosts[0], port, 5, why), noisy = connect_to(kHosts[0], port, 5, why);
  REQUIRE(noisy.get() >= 0);
  const std::string noise(20000, 'x');
  CHECK(::send(noisy.get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0);
  const Finished other_token = all.start(1, {}, "another token for all").wait();
  CHECK(other_token.exit_code == 2);
  CHECK_THAT(other_token.errors, ContainsSubstring("another job token"));
  const Finished other_spec = all.start(1, Job::set({"train.clip_norm=0.7"})).wait();
  CHECK(other_spec.exit_code == 2);
  CHECK_THAT(other_spec.errors, ContainsSubstring("has another spec than host 127.0.0.1"));
  CHECK(all.job.events("restart", "distributed").size() == 1);
  all.start(1);
  all.wait_for(2, 3);
  CHECK(all.error(1) == "host 127.0.0.2 has come back: 3 replicas instead of 2");
  all.check_bytes();
}

TEST_CASE("a lost host joins although another program has had the port meanwhile") {
  ChangingHosts all;
  std::optional<Listening> other = listen_at(kHosts[0], static_cast<uint16_t>(std::stoi(all.hosts.port())));
  all.lose(1);
  all.wait_for(1, 2);
  CHECK_THAT(all.hosts.program(0).errors(), ContainsSubstring("no host can come back yet: cannot listen at"));
  other.reset();
  REQUIRE(eventually(kSoon, [&] {
    return all.hosts.program(0).errors().find("hosts can come back now") != std::string::npos;
  }));
  all.start(1);
  all.wait_for(2, 3);
  CHECK(all.error(1) == "host 127.0.0.2 has come back: 3 replicas instead of 2");
}

TEST_CASE("too few hosts wait until one comes back, to the same bytes") {
  ChangingHosts all;
  all.lose(1);
  all.wait_for(1, 2);
  all.lose(2);
  REQUIRE(eventually(kSoon, [&] {
    return all.hosts.program(0).errors().find("waiting up to 1 min 00 s for the hosts that are gone") !=
           std::string::npos;
  }));
  all.start(1);
  all.wait_for(2, 2);
  CHECK_THAT(all.error(1), ContainsSubstring("host 127.0.0.3 ") && ContainsSubstring("is gone"));
  all.check_bytes();
}

}  // namespace
}  // namespace dtrain
