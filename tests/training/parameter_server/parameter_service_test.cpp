// Servers, with workers that are played by hand.
#include "parameter_server/parameter_service.h"

#include <ATen/ATen.h>

#include <atomic>
#include <future>
#include <thread>

#include "catch.h"
#include "core/error.h"
#include "optim/optimizer_specs.h"
#include "strategy/servers.h"

namespace dtrain {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kSums = 3;  // of a step

// A worker by hand: one server that holds `elements` numbers, of which the first phase trains `trained`.
class HandWorker {
 public:
  HandWorker(const Servers& servers, int worker, int64_t elements, std::optional<int64_t> trained = {})
      : channel_(servers.channel(0, worker)), all_(at::empty({elements}, at::kDouble)) {
    message_.send(*channel_, RequestHeader{.request = Request::kJoin, .elements = elements});
    CHECK(message_.receive_answer(*channel_).answer == Answer::kDone);
    placed_ = begin(0, trained.value_or(elements));
  }
  // The phase trains `trained` numbers.
  AnswerHeader begin(int32_t phase, int64_t trained) {
    const AnswerHeader answer = ask({.request = Request::kBegin, .phase = phase});
    channel_->receive(all_);
    if (answer.phase == phase) message_ = Message(trained, at::kDouble, kSums);
    return answer;
  }
  AnswerHeader ask(const RequestHeader& request) {
    message_.send(*channel_, request);
    AnswerHeader answer = message_.receive_answer(*channel_);
    while (answer.answer == Answer::kWait) {
      ++waits_;
      answer = message_.receive_answer(*channel_);
    }
    return answer;
  }
  double read(bool computes = true) {
    ask({.request = Request::kRead, .computes = computes ? 1 : 0});
    return value();
  }
  double value() { return message_.values()[0].item<double>(); }  // as the last answer had it
  std::vector<double> sums() {                                    // as the last answer had them
    const double* const first = message_.sums().const_data_ptr<double>();
    return {first, first + kSums};
  }
  AnswerHeader update(int64_t sequence, double gradient, double rate = 1) {
    message_.values().fill_(gradient);
    message_.sums().copy_(at::tensor({2, 5, 1}, at::kDouble));
    return ask({.request = Request::kUpdate, .sequence = sequence, .learning_rate = rate});
  }
  void leave() {
    ask({.request = Request::kEndTraining});
    ask({.request = Request::kLeave});
  }
  int waits() const { return waits_; }
  const at::Tensor& all() const { return all_; }          // as a phase began
  const AnswerHeader& placed() const { return placed_; }  // the first answer

 private:
  std::unique_ptr<PairChannel> channel_;
  at::Tensor all_;
  Message message_;
  AnswerHeader placed_;
  std::atomic<int> waits_ = 0;
};

struct HandJob {
  explicit HandJob(const ServiceOptions& options, const std::vector<PhaseChange>& phases = {})
      : servers(plain(), *model_of(plain()), options, 1, phases), elements(count(*model_of(plain()))) {}
  static JobSpec plain() {
    JobSpec spec = spec_of(1);
    set_kind(spec.train.optimizer, "sgd", /*momentum=*/0);
    spec.model.initializer = "zeros";
    return spec;
  }
  static int64_t count(const Model& model) {
    int64_t elements = 0;
    for (const at::Tensor& parameter : model.parameters()) elements += parameter.numel();
    return elements;
  }
  Servers servers;
  int64_t elements;
};

TEST_CASE("an update that comes twice is made once") {
  HandJob job(options_of(1));
  HandWorker worker(job.servers, 0, job.elements);
  CHECK(worker.read() == 0);
  worker.update(1, 3);
  CHECK(worker.value() == -3);
  worker.update(1, 3);
  CHECK(worker.value() == -3);
  CHECK(worker.read() == -3);
  worker.update(2, 3);
  CHECK(worker.value() == -6);
  worker.leave();
  job.servers.join();
  CHECK(job.servers.service(0).ledger().version() == 2);
}

TEST_CASE("when a worker leaves before its end the others are told") {
  HandJob job(options_of(3));
  HandWorker first(job.servers, 0, job.elements), third(job.servers, 2, job.elements);
  {
    HandWorker second(job.servers, 1, job.elements);
    second.leave();
  }
  first.read();
  CHECK(first.update(1, 1).stopping == 0);
  third.read();
  third.ask({.request = Request::kLeave});
  first.read();
  CHECK(first.update(2, 1).stopping == 1);
  first.leave();
  job.servers.join();
  for (const WorkerRecord& worker : job.servers.service(0).ledger().report().workers)
    CHECK_FALSE(worker.lost);
}

TEST_CASE("an old update is made with a smaller learning rate when that is asked for") {
  const bool divide = GENERATE(false, true);
  ServiceOptions options = options_of(2);
  options.divide_by_staleness = divide;
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  second.read();
  CHECK(first.update(1, 8).staleness == 0);
  CHECK(second.update(1, 8).staleness == 1);
  CHECK(second.read(/*computes=*/false) == (divide ? -12 : -16));
  second.leave();
  first.leave();
}

TEST_CASE("worker 0 is told the sums of all, once") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  second.read();
  second.update(1, 0);
  first.update(1, 0);
  CHECK(first.sums() == std::vector<double>{4, 10, 2});
  first.ask({.request = Request::kSkip, .sequence = 2});
  CHECK(first.sums() == std::vector<double>{0, 0, 0});
  second.leave();
  first.leave();
}

TEST_CASE("a worker that goes away in the middle costs nobody else anything") {
  ServiceOptions options = options_of(2);
  options.max_staleness = 1;
  std::atomic<int> lost = -1;
  options.on_lost = [&](int worker, const std::string&) { lost = worker; };
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements);
  {
    HandWorker second(job.servers, 1, job.elements);
    second.read();  // and never updates
  }
  for (int64_t step = 1; step <= 5; ++step) {
    first.read();
    first.update(step, 1);
  }
  first.leave();
  job.servers.join();
  CHECK(lost == 1);
  CHECK(job.servers.failure(0).empty());
  CHECK(job.servers.service(0).ledger().report().workers[1].lost);
  CHECK(at::equal(job.servers.service(0).values(), at::full({job.elements}, -5.0, at::kDouble)));
}

TEST_CASE("a worker that was lost comes back, and worker 0 waits for it at the end") {
  const bool in_time = GENERATE(true, false);
  ServiceOptions options = options_of(2, milliseconds(in_time ? 20000 : 1500));
  options.returns = 1;
  std::atomic<bool> is_there = false;
  std::atomic<int64_t> returned_after = -1;
  std::promise<void> lost;
  options.on_lost = [&](int, const std::string&) { lost.set_value(); };
  options.has_returned = [&](int worker) { return worker == 1 && is_there.exchange(false); };
  options.on_return = [&](int, int64_t steps) { returned_after = steps; };
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements);
  {
    HandWorker second(job.servers, 1, job.elements);
    second.read();
    second.update(1, 1);
  }
  lost.get_future().wait();
  if (in_time) {
    job.servers.incarnation = 1;
    is_there = true;
    HandWorker second(job.servers, 1, job.elements);
    CHECK(second.placed().steps == 1);
    second.read();
    second.update(1, 1);  // was made before it was lost
    CHECK(second.value() == -1);
    std::thread chief([&] { first.ask({.request = Request::kEndTraining}); });
    second.update(2, 1);
    CHECK(second.value() == -2);
    second.leave();
    chief.join();
    CHECK(returned_after == 1);
  } else {
    first.ask({.request = Request::kEndTraining});
    CHECK(first.waits() > 0);
  }
  first.ask({.request = Request::kLeave});
  job.servers.join();
  const WorkerRecord record = job.servers.service(0).ledger().report().workers[1];
  CHECK(record.lost == !in_time);
  CHECK(record.returns == (in_time ? 1 : 0));
  CHECK(record.updates == (in_time ? 2 : 1));
}

TEST_CASE("a worker that goes away before it has said what it is changes nothing") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements);
  job.servers.channel(0, 1).reset();
  first.leave();
  job.servers.join();
  CHECK(job.servers.service(0).ledger().version() == 0);
  CHECK(job.servers.service(0).ledger().report().workers[1].lost);
}

TEST_CASE("a worker that is silent while others wait for it is given up") {
  ServiceOptions options = options_of(2, milliseconds(1500));
  options.max_staleness = 1;
  std::string reason;
  options.on_lost = [&](int, const std::string& why) { reason = why; };
  HandJob job(options);
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  second.read();
  for (int64_t step = 1; step <= 3; ++step) {
    first.read();
    first.update(step, 1);  // the second one waits
  }
  CHECK(first.waits() > 0);
  first.leave();
  job.servers.join();
  CHECK(reason == "it was silent for 1.5 s while others waited for it");
  CHECK(job.servers.service(0).ledger().version() == 3);
  CHECK_THROWS_AS(second.read(), Error);
}

TEST_CASE("worker 0 waits at the end until the others have ended, or are lost") {
  const bool dies = GENERATE(false, true);
  HandJob job(options_of(2));
  auto second = std::make_unique<HandWorker>(job.servers, 1, job.elements);
  std::atomic<bool> ended = false;
  std::thread chief([&] {
    HandWorker first(job.servers, 0, job.elements);
    first.ask({.request = Request::kEndTraining});
    ended = true;
    first.ask({.request = Request::kLeave});
  });
  second->read();
  second->update(1, 1);
  CHECK_FALSE(ended);
  if (!dies) second->leave();
  second.reset();
  chief.join();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

TEST_CASE("a request that does not exist loses its sender only") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  CHECK_THROWS_AS(second.ask({.request = static_cast<Request>(99)}), Error);
  first.read();
  first.update(1, 1);
  first.leave();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

TEST_CASE("an update out of turn is a bug of ours and ends the server") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  first.read();
  CHECK_THROWS_AS(second.update(1, 1), Error);  // without having read
  const auto go_on = [&] {
    for (int64_t step = 1; step < 1'000'000; ++step) {
      first.update(step, 1);
      first.read();
    }
  };
  CHECK_THROWS_AS(go_on(), Error);
  job.servers.join();
  CHECK_THAT(job.servers.failure(0), ContainsSubstring("update 1 of worker 1 out of turn"));
}

// Of a value, between two requests.
void flip_a_bit(const Servers& servers) {
  static_cast<uint64_t*>(servers.service(0).values().mutable_data_ptr())[5] ^= 1;
}

TEST_CASE("a server whose values change by themselves after a check ends, and nothing of it is collected") {
  const bool collects = GENERATE(false, true);
  ServiceOptions options = options_of(1);
  options.check_every = 2;
  HandJob job(options);
  HandWorker worker(job.servers, 0, job.elements);
  worker.read();
  for (const int64_t step : {1, 2}) worker.update(step, 3);
  flip_a_bit(job.servers);
  if (collects) {
    CHECK_THROWS_AS(worker.ask({.request = Request::kCollect}), Error);
  } else {
    CHECK_THROWS_AS(worker.update(3, 3), Error);
  }
  job.servers.join();
  CHECK_THAT(job.servers.failure(0), ContainsSubstring("memory of this server is corrupt") &&
                                         ContainsSubstring("nothing of it was saved"));
}

TEST_CASE("between other updates, or without checks, a server does not look") {
  ServiceOptions options = options_of(1);
  options.check_every = GENERATE(0, 2);
  HandJob job(options);
  HandWorker worker(job.servers, 0, job.elements);
  worker.read();
  for (int64_t step = 1; step <= 5; ++step) {
    worker.update(step, 3);
    if (options.check_every == 0 || step == 3) flip_a_bit(job.servers);
  }
  worker.leave();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

// flatten, dense, relu, ..., dense: the first dense layer, then the last.
const std::vector<PhaseChange> kTwoPhases = {{0, {.each = {false, true, false, false, false, false}}},
                                             {2, {.each = {false, false, false, false, false, true}}}};

// The numbers of the layers that each phase trains.
struct TrainedInPhases {
  int64_t first, second;
};
TrainedInPhases trained_in_two_phases() {
  const auto model = model_of(HandJob::plain());
  std::vector<int64_t> counts;
  for (const PhaseChange& phase : kTwoPhases) {
    model->train_layers(phase.layers);
    int64_t trained = 0;
    for (const at::Tensor& parameter : model->parameters())
      trained += parameter.requires_grad() ? parameter.numel() : 0;
    counts.push_back(trained);
  }
  return {counts[0], counts[1]};
}

TEST_CASE("a phase begins when all have come to it, and then trains only what is its own") {
  const TrainedInPhases trained = trained_in_two_phases();
  HandJob job(options_of(2), kTwoPhases);
  HandWorker first(job.servers, 0, job.elements, trained.first);
  HandWorker second(job.servers, 1, job.elements, trained.first);
  for (int64_t step = 1; step <= 2; ++step) {
    first.read();
    first.update(step, 1);
  }
  std::atomic<int> begun = 0;
  std::thread waiting([&] { begun = first.begin(1, trained.second).phase; });
  second.read();
  second.update(1, 1);
  CHECK(begun == 0);
  second.ask({.request = Request::kSkip, .sequence = 2});
  CHECK(second.begin(1, trained.second).steps == 2);
  waiting.join();
  CHECK(begun == 1);
  CHECK(at::equal(first.all(), second.all()));
  CHECK(first.all().sum().item<double>() == -3.0 * static_cast<double>(trained.first));
  CHECK(first.read() == 0);  // what this phase trains was frozen
  CHECK(first.update(3, 1).staleness == 0);
  second.leave();
  first.leave();
  job.servers.join();
  CHECK(job.servers.service(0).values().sum().item<double>() ==
        -static_cast<double>(3 * trained.first + trained.second));
}

TEST_CASE("a phase does not wait for workers that are lost, and one that comes back late is told") {
  const TrainedInPhases trained = trained_in_two_phases();
  ServiceOptions options = options_of(2, milliseconds(1500));
  options.returns = 1;
  std::atomic<bool> is_there = false;
  options.has_returned = [&](int worker) { return worker == 1 && is_there.exchange(false); };
  std::promise<void> lost;
  options.on_lost = [&](int, const std::string&) { lost.set_value(); };
  HandJob job(options, kTwoPhases);
  HandWorker first(job.servers, 0, job.elements, trained.first);
  HandWorker(job.servers, 1, job.elements, trained.first).read();
  lost.get_future().wait();
  for (const int64_t step : {1, 2}) {
    first.read();
    first.update(step, 1);
  }
  CHECK(first.begin(1, trained.second).phase == 1);
  CHECK(first.waits() > 0);  // it could have come back in time
  job.servers.incarnation = 1;
  is_there = true;
  HandWorker second(job.servers, 1, job.elements, trained.first);
  CHECK(second.placed().phase == 1);
  CHECK(second.placed().steps == 2);
  CHECK(second.begin(1, trained.second).phase == 1);
  second.read();
  second.update(3, 1);
  CHECK(second.value() == -1);
  second.leave();
  first.leave();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

TEST_CASE("a phase waits for worker 0 however long it evaluates") {
  const TrainedInPhases trained = trained_in_two_phases();
  HandJob job(options_of(2, milliseconds(1500)), kTwoPhases);
  HandWorker first(job.servers, 0, job.elements, trained.first);
  HandWorker second(job.servers, 1, job.elements, trained.first);
  int begun = 0;
  std::thread waiting([&] { begun = second.begin(1, trained.second).phase; });
  while (second.waits() < 6) std::this_thread::yield();  // each a quarter of the timeout
  CHECK(first.begin(1, trained.second).phase == 1);
  waiting.join();
  CHECK(begun == 1);
  CHECK(second.waits() > 0);
  second.leave();
  first.leave();
}

TEST_CASE("no phase begins once a worker has left because the job is to stop") {
  const TrainedInPhases trained = trained_in_two_phases();
  HandJob job(options_of(3), kTwoPhases);
  HandWorker first(job.servers, 0, job.elements, trained.first);
  HandWorker second(job.servers, 1, job.elements, trained.first);
  HandWorker third(job.servers, 2, job.elements, trained.first);
  AnswerHeader answer;
  std::thread waiting([&] { answer = first.begin(1, trained.second); });
  third.ask({.request = Request::kLeave});
  waiting.join();
  CHECK(answer.phase == 0);
  CHECK(answer.stopping == 1);
  CHECK(second.begin(1, trained.second).phase == 0);  // the last one that was missing
  CHECK(first.ask({.request = Request::kCollect}).steps == 0);
}

TEST_CASE("a phase that does not exist loses the worker that asks for it") {
  HandJob job(options_of(2));
  HandWorker first(job.servers, 0, job.elements), second(job.servers, 1, job.elements);
  const int32_t phase = GENERATE(-1, 1);
  CHECK_THROWS_AS(second.begin(phase, job.elements), Error);
  first.leave();
  job.servers.join();
  CHECK(job.servers.failure(0).empty());
}

}  // namespace
}  // namespace dtrain
