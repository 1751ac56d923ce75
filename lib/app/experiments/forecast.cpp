#include "experiments/forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "runs/tune_results.h"
#include "strategy/decisions.h"

namespace dtrain {
namespace {

constexpr double kPayload = 1448.0 / 1538;
constexpr double kSegment = 1 << 20;
constexpr double kFewBytes = 32;
constexpr double kMostUncertain = 0.9;
constexpr size_t kFewRounds = 20;

double wire_seconds(double bytes, const NetworkLink& link) {
  return bytes * 8 / kPayload / link.bits_per_second;
}

// That each host sends.
double ring_bytes(double bytes, double hosts) { return 2 * (hosts - 1) / hosts * bytes; }

// `count` messages to a neighbour, two at a time: either the link is busy, or it waits for a round trip.
double messages_seconds(double count, double bytes, const NetworkLink& link) {
  const double wire = wire_seconds(bytes, link);
  return count * std::max(wire, (link.round_trip + wire) / 2) + std::min(wire, link.round_trip);
}

double mean_of(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  return values.size() < 2 ? 0 : sample_deviation(values);
}

double bytes_of(const ForecastJob& job) {
  double bytes = 0;
  for (const LayerGradients& layer : job.layers) bytes += layer.bytes;
  return bytes;
}

// From the end of the backward pass to the end of the update. As in comm/overlapped_reducer.cpp, a bucket is
// sent when its gradients are ready and the last but one before it has arrived. Two share the link.
double after_backward(const ForecastJob& job, double wire_share, double hosts, double backward, double update,
                      const NetworkLink& link, View view) {
  double operations = 0, bytes = 0, limit = job.first_bucket, computed = 0, updated = backward;
  double link_is_free = 0, arrived = 0, arrived_before = 0;
  for (const LayerGradients& layer : job.layers) operations += layer.operations;
  for (size_t i = job.layers.size(); i-- > 0;) {
    bytes += job.layers[i].bytes;
    computed += job.layers[i].operations;
    if (bytes == 0 || (i > 0 && bytes < limit)) continue;
    double ready = operations > 0 ? backward * computed / operations : backward;
    if (view != View::kExpected) ready = view == View::kSlow ? backward : 0;
    const double sent = std::max(ready, arrived_before), on_wire = bytes * wire_share;
    link_is_free = std::max(link_is_free, sent) + wire_seconds(ring_bytes(on_wire, hosts), link);
    arrived_before = arrived;
    arrived = std::max({arrived, link_is_free, sent + all_reduce_seconds(on_wire, hosts, link)});
    if (job.updates_early) updated = std::max(updated, arrived) + update * bytes / bytes_of(job);
    bytes = 0;
    limit = job.bucket;
  }
  return (job.updates_early ? updated : std::max(arrived, backward) + update) - backward;
}

// Of `every` steps in a row; all there are of such rounds.
std::vector<double> rounds_of(const std::vector<double>& steps, double every) {
  std::vector<double> rounds;
  const auto count = std::max<size_t>(1, static_cast<size_t>(every));
  for (size_t end = count; end <= steps.size(); end += count)
    rounds.push_back(std::reduce(&steps[end - count], &steps[end - count] + count));
  return rounds;
}

}  // namespace

NetworkLink parse_link(const std::string& text) {
  static const Pattern form(R"(([0-9.]{1,12})(kbit|mbit|gbit),([0-9.]{1,12})(us|ms))");
  if (const auto found = form.match(text)) {
    const auto number = [&](size_t group, double unit) {
      char* end = nullptr;
      const double value = std::strtod((*found)[group].text.c_str(), &end);
      return *end == '\0' ? value * unit : -1;
    };
    const std::string& bits = (*found)[2].text;
    const NetworkLink link = {number(1, bits == "kbit"   ? 1e3
                                        : bits == "mbit" ? 1e6
                                                         : 1e9),
                              number(3, (*found)[4].text == "us" ? 1e-6 : 1e-3)};
    if (link.bits_per_second > 0 && link.round_trip >= 0) return link;
  }
  throw Error(ExitCode::kUsage,
              "--link {}: write a bandwidth above 0 (kbit, mbit or gbit a second) and a round trip (us or "
              "ms), such as 25gbit,50us",
              printable(text, 60));
}

double all_reduce_seconds(double bytes, double hosts, const NetworkLink& link) {
  if (hosts <= 1 || bytes <= 0) return 0;
  const double segments = std::max(2.0, std::ceil(bytes / hosts / kSegment));  // of a host's share
  return 2 * messages_seconds((hosts - 1) * segments, bytes / hosts / segments, link);
}

double direct_seconds(double bytes, double hosts, const NetworkLink& link) {
  return hosts <= 1 ? 0 : link.round_trip + wire_seconds(bytes, link) * (hosts - 1) / hosts;
}

double relative_uncertainty(const std::vector<double>& durations) {
  const double mean = mean_of(durations);
  if (!(mean > 0) || durations.size() < 2) return kMostUncertain;
  const double half = 1.96 * deviation_of(durations) / std::sqrt(static_cast<double>(durations.size()));
  return std::min(kMostUncertain, half / mean);
}

double wait_for_slowest(std::vector<double> durations, double hosts) {
  std::ranges::sort(durations);
  const auto count = static_cast<double>(durations.size());
  double slowest = 0, below = 0;  // the probability that all hosts take less
  for (size_t i = 0; i < durations.size(); ++i) {
    const double reached = std::pow(static_cast<double>(i + 1) / count, hosts);
    slowest += durations[i] * (reached - std::exchange(below, reached));
  }
  if (hosts > count)
    slowest += deviation_of(durations) *
               (std::sqrt(2 * std::log(hosts)) - std::sqrt(2 * std::log(std::max(1.0, count))));
  return std::max(0.0, slowest - mean_of(durations));
}

std::string Forecast::bottleneck() const {
  const double most = std::max({compute, other, bandwidth + latency, stragglers});
  if (most == compute) return "compute";
  if (most == other) return "input, update";
  if (most == stragglers) return "stragglers";
  return bandwidth >= latency ? "network bandwidth" : "network latency";
}

Forecast forecast(const ForecastJob& job, Exchange exchange, const HostsPlan& plan, const NetworkLink& link,
                  View view) {
  const double n = plan.hosts, bytes = bytes_of(job);
  const double sign = view == View::kExpected ? 0 : view == View::kSlow ? 1 : -1;
  const double measured = 1 + sign * relative_uncertainty(job.durations);
  const double share = plan.global_batch / n / job.global_batch;  // of the examples that one host measured
  const double every = exchange == Exchange::kLocalSteps ? job.local_steps : 1;
  const double wire_share = exchange == Exchange::kSixteenBits ? 2 / job.element : 1;
  Forecast result;
  result.compute = job.seconds[StepTime::kCompute] * share * measured;
  result.bytes_sent = ring_bytes(bytes * wire_share, n) / every;
  double update = job.seconds[StepTime::kUpdate] * measured, network = 0;
  if (exchange == Exchange::kSharded) {
    update /= n;
    network = 2 * direct_seconds(bytes, n, link);
  } else if (exchange == Exchange::kLocalSteps) {
    network = 2 * direct_seconds(bytes, n, link) / every;
  } else {
    if (n > 1) update *= job.replicas;  // each has to update its whole copy, and no slice of it
    const double backward = result.compute * job.backward / plan.passes;
    network = std::max(0.0, after_backward(job, wire_share, n, backward, update, link, view) - update);
  }
  result.other = update + (job.seconds[StepTime::kDataWait] * share + job.seconds[StepTime::kCommunicate] +
                           job.seconds[StepTime::kWaitForPeers]) *
                              measured;
  // A host that is slow is so for a while: rounds are measured, unless there are too few of them.
  const std::vector<double> rounds = rounds_of(job.durations, every);
  const bool by_rounds = rounds.size() >= kFewRounds;
  const std::vector<double>& waited_for = by_rounds ? rounds : job.durations;
  double wait = view == View::kFast ? 0 : wait_for_slowest(waited_for, n);
  if (view == View::kSlow) wait = std::max(wait, deviation_of(waited_for) * std::sqrt(2 * std::log(n)));
  result.stragglers = wait * share / (by_rounds ? every : std::sqrt(every));  // else waits even out
  result.bandwidth = std::min(network, wire_seconds(result.bytes_sent, link));
  result.latency = network - result.bandwidth;
  const double small = all_reduce_seconds(kFewBytes, n, link);
  result.latency +=
      small * (1 / job.window_steps + std::min(1.0, result.step() / seconds_between_decisions(small)));
  return result;
}

}  // namespace dtrain
