// What a cluster of equal hosts will bring to a job: a closed formula of the steps that one host has
// measured, and the forecast that is made with it.
//
// c10d's all-reduce over gloo (gloo/allreduce.cc) is a ring for any size: in 2 (n - 1) rounds a host sends
// 2 (n - 1) / n of the bytes (Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms), in segments
// of at most 1 MiB, two at a time. A receiver asks for each segment (NOTIFY_RECV_READY,
// gloo/transport/tcp/pair.cc), so each round costs a round trip. A full Ethernet frame of 1538 bytes carries
// 1448 bytes of TCP's payload.
//
// The slowest of n hosts is as slow as the mean maximum of n draws from the measured steps (by their
// distribution function); for more draws than steps, it grows like that of a normal distribution, by sd
// sqrt(2 ln n) (Boucheron, Lugosi and Massart 2013, Concentration Inequalities, theorem 2.5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/step_clock.h"
#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

struct NetworkLink {
  double bits_per_second = 1;  // each way
  double round_trip = 0;       // seconds
};

// "25gbit,50us": NUMBER(kbit|mbit|gbit),NUMBER(us|ms). Throws Error(kUsage).
NetworkLink parse_link(const std::string& text);

// How long it takes to sum up `bytes` on n hosts; and for each host to send every other one the share of
// `bytes` that this one sums up, or that it has.
double all_reduce_seconds(double bytes, double hosts, const NetworkLink& link);
double direct_seconds(double bytes, double hosts, const NetworkLink& link);

// Half the 95 % confidence interval of the mean, relative to it.
double relative_uncertainty(const std::vector<double>& durations);
// How much longer than the mean the slowest of n steps takes.
double wait_for_slowest(std::vector<double> durations, double hosts);

struct LayerGradients {
  double bytes = 0;
  double operations = 0;  // of its backward pass
};

// What is known of one host.
struct ForecastJob {
  StepTimes seconds;              // of a mean step
  std::vector<double> durations;  // of single steps, in the order of time; seconds
  double global_batch = 1, replicas = 1;
  std::vector<LayerGradients> layers;   // from the first to the last
  double backward = 2.0 / 3;            // its share of the time of forward and backward
  double first_bucket = 0, bucket = 0;  // bytes
  double element = 4;                   // bytes
  bool updates_early = true;            // each bucket when it has arrived
  double local_steps = 32;              // between two exchanges
  double window_steps = 50;             // between two sums of metrics
};

enum class Exchange { kSynchronous, kSixteenBits, kLocalSteps, kSharded };
constexpr std::array<const char*, 4> kExchangeNames = {"synchronous", "16 bits", "local steps", "sharded"};

struct HostsPlan {
  double hosts = 1, global_batch = 1, steps = 1;  // steps of the whole job
  double passes = 1;                              // of a step, of which the last overlaps with the exchange
};

struct Forecast {
  double compute = 0, other = 0, bandwidth = 0, latency = 0, stragglers = 0;  // seconds of a step
  double step() const { return compute + other + bandwidth + latency + stragglers; }
  double bytes_sent = 0;  // by a host in a mean step
  std::string bottleneck() const;
};

// kSlow: backward hides no exchange, and the measured times are at the upper end of their uncertainty. kFast:
// it hides all that it has time for, they are at the lower end, and no host waits for another.
enum class View { kExpected, kSlow, kFast };

Forecast forecast(const ForecastJob& job, Exchange exchange, const HostsPlan& plan, const NetworkLink& link,
                  View view = View::kExpected);

// A job's forecast for several numbers of hosts, as JSON. `job` is the plan of `loaded` on one host; its
// steps are measured, or read from the folder of the run `from`. Throws Error(kUsage) if the link is none, or
// if the forecast does not cover the job; and the error of a run that fails.
Event forecast_cluster(const LoadedSpec& loaded, const JobPlan& job, const std::vector<int64_t>& hosts,
                       const std::string& link, const std::optional<std::string>& from);

// The same as a table and a chart, for a terminal that is `width` columns wide (0: no limit).
std::string forecast_table(const Event& forecast, int width);

}  // namespace dtrain
