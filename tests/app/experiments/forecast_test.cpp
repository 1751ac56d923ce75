// The forecast's formula at its limits, where a few terms are left.
#include "experiments/forecast.h"

#include <cmath>
#include <utility>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr double kOverhead = 1538.0 / 1448;  // of Ethernet and TCP
constexpr double kEndless = 1e30;            // bit/s
const std::vector<Exchange> kAll = {Exchange::kSynchronous, Exchange::kSixteenBits, Exchange::kLocalSteps,
                                    Exchange::kSharded};

// A step of 10 ms: 6 of forward and backward, 1 of input, 1 inside the host, 2 of update. The layers have 1,
// 0 and 3 million bytes of gradients. All steps take the same time.
ForecastJob even_job() {
  ForecastJob job;
  job.seconds[StepTime::kCompute] = 6e-3;
  job.seconds[StepTime::kDataWait] = 1e-3;
  job.seconds[StepTime::kCommunicate] = 1e-3;
  job.seconds[StepTime::kUpdate] = 2e-3;
  job.durations.assign(20, 10e-3);
  job.global_batch = 100;
  job.layers = {{1e6, 100}, {0, 0}, {3e6, 300}};
  job.first_bucket = job.bucket = 1;  // a bucket for each layer
  job.window_steps = 1e9;
  return job;
}

HostsPlan weak(double hosts) { return {hosts, 100 * hosts, 1000}; }

double step_of(const ForecastJob& job, Exchange exchange, double hosts, const NetworkLink& link,
               View view = View::kExpected) {
  return forecast(job, exchange, weak(hosts), link, view).step();
}

TEST_CASE("one host exchanges nothing") {
  for (const Exchange exchange : kAll) {
    const Forecast one = forecast(even_job(), exchange, weak(1), {1, 1});
    CHECK(one.compute == Approx(6e-3));
    CHECK(one.step() == Approx(10e-3));
    CHECK(one.bytes_sent == 0);
    CHECK(one.bandwidth + one.latency + one.stragglers == Approx(0).margin(1e-12));
    CHECK(one.bottleneck() == "compute");
  }
}

TEST_CASE("an all-reduce over a link without latency takes 2 (n - 1) / n of the bytes") {
  for (const double hosts : {2.0, 3.0, 8.0, 1000.0}) {
    const double seconds = all_reduce_seconds(4e6, hosts, {1e9, 0});
    CHECK(seconds == Approx(2 * (hosts - 1) / hosts * 4e6 * 8 * kOverhead / 1e9));
    CHECK(2 * direct_seconds(4e6, hosts, {1e9, 0}) == Approx(seconds));
  }
}

TEST_CASE("over a link without end in bandwidth, rounds cost round trips") {
  for (const double hosts : {2.0, 3.0, 100.0}) {
    CHECK(all_reduce_seconds(1000, hosts, {kEndless, 1e-3}) == Approx(2 * (hosts - 1) * 1e-3));
    CHECK(direct_seconds(1000, hosts, {kEndless, 1e-3}) == Approx(1e-3));
  }
  // A host's half of 8 MiB is 4 segments of 1 MiB, of which two are asked for at a time.
  CHECK(all_reduce_seconds(8 << 20, 2, {kEndless, 1e-3}) == Approx(2 * 2 * 1e-3));
}

TEST_CASE("between the limits, neither is forgotten") {
  // Two segments each way: a round trip before the first, then the link is busy until the last.
  const double wire = 1e6 * 8 * kOverhead / 1e9;
  CHECK(all_reduce_seconds(1e6, 2, {1e9, 1e-4}) == Approx(wire + 2 * 1e-4));
  for (const double hosts : {2.0, 5.0, 64.0}) {
    const double both = all_reduce_seconds(3e6, hosts, {1e9, 1e-3});
    CHECK(both >= all_reduce_seconds(3e6, hosts, {1e9, 0}));
    CHECK(both >= all_reduce_seconds(3e6, hosts, {kEndless, 1e-3}));
    CHECK(both <= 2 * (hosts - 1) * 1e-3 + all_reduce_seconds(3e6, hosts, {1e9, 0}) + 1e-9);
  }
}

TEST_CASE("without a network's cost, equal hosts are as fast together as alone") {
  for (const Exchange exchange : kAll) {
    if (exchange == Exchange::kSharded) continue;
    CHECK(step_of(even_job(), exchange, 50, {kEndless, 0}) == Approx(10e-3));
  }
  CHECK(step_of(even_job(), Exchange::kSharded, 50, {kEndless, 0}) == Approx(8e-3 + 2e-3 / 50));
}

TEST_CASE("buckets travel while backward computes the layers before them, and while others are updated") {
  // Backward takes 4 ms. After 3 of them the last layer's 3 MB can go, which takes 3 ms, and then the other's
  // 1 MB, 1 ms. So they arrive 2 and 3 ms after backward, and are updated until 3.5 and 4 ms after it.
  const NetworkLink link = {8e9 * kOverhead, 0};
  const Forecast two = forecast(even_job(), Exchange::kSynchronous, weak(2), link);
  CHECK(two.bandwidth == Approx(4e-3 - 2e-3));
  CHECK(two.bytes_sent == Approx(4e6));
  ForecastJob clipped = even_job();
  clipped.updates_early = false;
  CHECK(forecast(clipped, Exchange::kSynchronous, weak(2), link).bandwidth == Approx(3e-3));
  ForecastJob whole = even_job();
  whole.first_bucket = whole.bucket = 1e9;  // one bucket, which is full after backward
  CHECK(forecast(whole, Exchange::kSynchronous, weak(2), link).bandwidth == Approx(4e-3));
  CHECK(forecast(whole, Exchange::kSixteenBits, weak(2), link).bandwidth == Approx(2e-3));
  CHECK(forecast(whole, Exchange::kLocalSteps, weak(2), link).bandwidth == Approx(4e-3 / 32));
  CHECK(forecast(whole, Exchange::kSharded, weak(2), link).bandwidth == Approx(4e-3));
}

TEST_CASE("of several passes only the last one's backward hides an exchange") {
  // As above, but a pass takes 1 ms of backward: after 3/4 ms 3 MB can go, which takes 3 ms, and then 1 MB.
  // They arrive 2.75 and 3.75 ms after it, and are updated until 4.25 and 4.75 ms after it.
  const NetworkLink link = {8e9 * kOverhead, 0};
  const auto network = [&](double passes, View view) {
    return forecast(even_job(), Exchange::kSynchronous, {2, 200, 1000, passes}, link, view).bandwidth;
  };
  CHECK(network(4, View::kExpected) == Approx(4.75e-3 - 2e-3));
  CHECK(network(4, View::kSlow) == Approx(network(1, View::kSlow)));
  CHECK(network(4, View::kFast) > network(1, View::kFast));
}

TEST_CASE("a fixed global batch leaves each host its share") {
  const Forecast four = forecast(even_job(), Exchange::kSynchronous, {4, 100, 1000}, {kEndless, 0});
  CHECK(four.compute == Approx(6e-3 / 4));
  CHECK(four.other == Approx(1e-3 / 4 + 1e-3 + 2e-3));
}

TEST_CASE("more hosts, less bandwidth and more latency never make a step shorter") {
  ForecastJob job = even_job();
  for (size_t i = 0; i < job.durations.size(); ++i) job.durations[i] += 1e-4 * static_cast<double>(i);
  for (const Exchange exchange : {Exchange::kSynchronous, Exchange::kSixteenBits, Exchange::kLocalSteps}) {
    double before = 0;
    for (double hosts = 1; hosts <= 65536; hosts *= 2) {
      const double step = step_of(job, exchange, hosts, {1e9, 1e-4});
      CHECK(step > before);
      CHECK(step < step_of(job, exchange, hosts + 1, {5e8, 1e-4}));
      CHECK(step < step_of(job, exchange, hosts + 1, {1e9, 2e-4}));
      CHECK(step <= step_of(job, exchange, hosts, {1e9, 1e-4}, View::kSlow));
      CHECK(step >= step_of(job, exchange, hosts, {1e9, 1e-4}, View::kFast));
      before = step;
    }
  }
}

TEST_CASE("the slowest of n hosts is the mean maximum of n measured steps") {
  const std::vector<double> steps = {3, 1, 2, 4};
  CHECK(wait_for_slowest(steps, 1) == Approx(0).margin(1e-12));
  CHECK(wait_for_slowest(steps, 2) == Approx((1 * 1 + 2 * 3 + 3 * 5 + 4 * 7) / 16.0 - 2.5));
  CHECK(wait_for_slowest({5, 5, 5}, 1e5) == 0);
  const double deviation = std::sqrt(5.0 / 3);
  const double difference = wait_for_slowest(steps, 4000) - wait_for_slowest(steps, 400);
  CHECK(difference == Approx(deviation * (std::sqrt(2 * std::log(4000)) - std::sqrt(2 * std::log(400)))));
  CHECK(wait_for_slowest({}, 10) == 0);
}

TEST_CASE("over local steps hosts wait for the slowest round, and waits of single steps even out") {
  ForecastJob job = even_job();
  job.local_steps = 4;
  const NetworkLink link = {kEndless, 0};
  const auto waits = [&] { return forecast(job, Exchange::kLocalSteps, weak(2), link).stragglers; };
  job.durations.clear();
  for (int step = 0; step < 160; ++step) job.durations.push_back(step % 2 == 0 ? 9e-3 : 11e-3);
  CHECK(waits() == Approx(0).margin(1e-12));  // each round takes 40 ms
  job.durations.clear();
  for (int step = 0; step < 160; ++step) job.durations.push_back(step / 8 % 2 == 0 ? 9e-3 : 11e-3);
  CHECK(waits() == Approx(wait_for_slowest({36e-3, 44e-3}, 2) / 4));
  job.durations.resize(76);  // 19 rounds tell too little of rounds
  CHECK(waits() == Approx(wait_for_slowest(job.durations, 2) / std::sqrt(4)));
}

TEST_CASE("the uncertainty is that of a mean") {
  CHECK(relative_uncertainty(std::vector<double>(30, 2)) == 0);
  CHECK(relative_uncertainty({1, 3, 1, 3}) == Approx(1.96 * std::sqrt(4.0 / 3) / 2 / 2));
  CHECK(relative_uncertainty({2}) == 0.9);  // of one, next to nothing is known
}

TEST_CASE("the bottleneck is what takes longest") {
  const auto name = [](double compute, double other, double bandwidth, double latency, double stragglers) {
    return Forecast{compute, other, bandwidth, latency, stragglers, 0}.bottleneck();
  };
  CHECK(name(5, 1, 2, 2, 4) == "compute");
  CHECK(name(1, 5, 2, 2, 4) == "input, update");
  CHECK(name(4, 1, 3, 2, 4) == "network bandwidth");
  CHECK(name(4, 1, 2, 3, 4) == "network latency");
  CHECK(name(1, 1, 1, 1, 3) == "stragglers");
}

TEST_CASE("a link is a bandwidth and a round trip") {
  const auto link = [](const std::string& text) {
    const NetworkLink parsed = parse_link(text);
    return std::pair(parsed.bits_per_second, parsed.round_trip);
  };
  CHECK(link("25gbit,50us").first == Approx(25e9));
  CHECK(link("25gbit,50us").second == Approx(50e-6));
  CHECK(link("0.5mbit,1.5ms").first == Approx(0.5e6));
  CHECK(link("0.5mbit,1.5ms").second == Approx(1.5e-3));
  CHECK(link("1kbit,0us") == std::pair(1e3, 0.0));
  for (const char* wrong :
       {"", "25gbit", "25gbit,50", "25,50us", "25Gbit,50us", "25GB,50us", "0gbit,50us", "25gbit,-5us",
        "-1gbit,5us", "1..5gbit,5us", ".gbit,5us", "25gbit,50us,", "25gbit 50us", "1e9kbit,5us"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_link(wrong), Error);
  }
}

}  // namespace
}  // namespace dtrain
