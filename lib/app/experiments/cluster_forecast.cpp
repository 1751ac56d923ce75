// What the forecast of a job is made from, and its table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "display/rate_plot.h"
#include "display/table_layout.h"
#include "experiments/first_steps.h"
#include "experiments/forecast.h"
#include "launch/place.h"
#include "metrics/show.h"
#include "models/layer_kinds.h"
#include "runs/finished_run.h"

namespace dtrain {
namespace {

constexpr double kMebibyte = 1 << 20;  // also c10d::kDefaultFirstBucketBytes

void require_covered(const JobSpec& spec) {
  const auto require = [](bool covered, const std::string& what, const std::string& fix) {
    if (!covered)
      throw Error(
          ExitCode::kUsage,
          "--at-hosts: the forecast covers mirrored and multi_worker_mirrored, on hosts like this one, "
          "and not {}; use {}",
          what, fix);
  };
  const std::string& kind = spec.strategy.kind;
  require(kind == "mirrored" || kind == "multi_worker_mirrored", "strategy.kind: " + kind,
          "--set strategy.kind=multi_worker_mirrored");
  require(!spec.uses_xla(), "train.step: xla", "--set train.step=auto");
  require(spec.hosts.size() < 2, "a spec that lists several hosts, since one is measured", "--unset hosts");
  require(!spec.strategy.virtual_replicas, "virtual replicas", "--unset strategy.virtual_replicas");
  require(spec.phases.size() < 2, "several phases", "--unset phases");
}

// Takes the times of steps from the run in `folder`: the means of phases if it has ended, and single ones.
void read_steps(const std::filesystem::path& folder, const JobPlan& job, ForecastJob& of) {
  const RunHistory history = read_run_history(folder);
  const RunCourse course = history.distributed() == nullptr ? RunCourse() : *history.distributed();
  const RunStartEvent& start = course.start;
  const RunPlan& run = job.distributed_run();
  if (history.finished.spec.hosts.size() > 1 || start.spans_hosts.value_or(false) ||
      start.replicas != run.replicas || start.global_batch != run.batch.global ||
      start.parameters != job.model.parameters())
    throw Error(ExitCode::kUsage,
                "{}: is no run of this job on one host, but of {}, {} examples a step and {} parameters; use "
                "--calibrate",
                printable(folder.string()), show_counted(start.replicas, "replica"),
                show_count(start.global_batch), show_count(start.parameters));
  of.seconds = course.end.phases_ms.value_or(StepTimes());
  for (double& value : of.seconds.values) value /= 1e3;
  of.durations.clear();
  for (const StepEvent& step : course.steps) {
    if (step.speed.step_ms && step.step > start.skipped_steps)
      of.durations.push_back(*step.speed.step_ms / 1e3);
  }
}

// Measures for about 20 seconds, at most all steps of the job twice. Reporting every step takes time of its
// own, so the phases are those of steps that are not.
void measure_steps(const JobPlan& job, ForecastJob& of) {
  constexpr double kSeconds = 10;
  const int64_t all = job.distributed_run().total_steps;
  const ScratchFolder one_by_one("dtrain-forecast"), together("dtrain-forecast");
  read_steps(run_steps(job.spec, 1, all, kSeconds, one_by_one.path()), job, of);
  const std::vector<double> durations = std::move(of.durations);
  const double sum = std::accumulate(durations.begin(), durations.end(), 1e-9);
  const auto steps = static_cast<int64_t>(kSeconds / sum * static_cast<double>(durations.size()));
  const int64_t every = std::max<int64_t>(job.spec.metrics.every_steps, 10);
  const int64_t skipped = job.spec.metrics.skip_steps;
  read_steps(run_steps(job.spec, every, std::min(all, steps + skipped + 1), std::nullopt, together.path()),
             job, of);
  of.durations = durations;
}

// All that a plan knows.
ForecastJob forecast_job(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  ForecastJob of;
  const std::vector<bool>& each = run.phases.front().layers.each;
  double forward = 0, backward = 0;
  for (size_t i = 0; i < job.model.layers.size(); ++i) {
    const LayerOperations operations = operations_of(job.model.layers, i);
    const int64_t trained = each.empty() || each[i] ? job.model.layers[i].parameters : 0;
    of.layers.push_back({static_cast<double>(trained * job.bytes_per_parameter), operations.backward});
    forward += operations.forward;
    backward += operations.backward;
  }
  if (forward > 0) of.backward = backward / (forward + backward);
  of.global_batch = static_cast<double>(run.batch.global);
  const bool divided = job.communication != "gloo" && job.communication != "nccl";  // the update of a host
  of.replicas = divided ? static_cast<double>(run.replicas) : 1;
  of.bucket = job.spec.strategy.bucket_megabytes * kMebibyte;
  of.first_bucket = std::min(of.bucket, kMebibyte);
  of.element = static_cast<double>(job.bytes_per_parameter);
  of.updates_early = job.spec.train.clip_norm == 0 && job.spec.train.precision != "fp16_mixed";
  if (const auto& every = job.spec.strategy.local_steps.every) of.local_steps = static_cast<double>(*every);
  of.window_steps = static_cast<double>(job.spec.metrics.every_steps);
  return of;
}

HostsPlan plan_hosts(LoadedSpec loaded, const JobPlan& job, int64_t hosts) {
  loaded.spec = job.spec;
  loaded.spec.strategy.kind = "multi_worker_mirrored";
  loaded.spec.strategy.replicas = job.distributed_run().replicas * hosts;
  loaded.spec.metrics.noise_scale = false;
  const PlannedJob planned = plan_job(loaded, job.data, {.hosts = hosts});
  if (!planned.ok()) {
    const Problem& problem = planned.problems.front();
    throw Error(ExitCode::kUsage, "--at-hosts: with {}: {}: {}", counted(hosts, "host"), problem.path,
                problem.text);
  }
  const RunPlan& run = planned.job.distributed_run();
  return {static_cast<double>(hosts), static_cast<double>(run.batch.global),
          static_cast<double>(run.total_steps), static_cast<double>(run.batch.accumulate_steps)};
}

Event row_of(const ForecastJob& job, Exchange exchange, const HostsPlan& plan, const NetworkLink& link) {
  const Forecast row = forecast(job, exchange, plan, link);
  const auto rate = [&](View view) {
    return plan.global_batch / forecast(job, exchange, plan, link, view).step();
  };
  const double alone = job.global_batch / job.seconds.total();
  return {{"hosts", std::llround(plan.hosts)},
          {"exchange", kExchangeNames[static_cast<size_t>(exchange)]},
          {"examples_per_second", rate(View::kExpected)},
          {"examples_per_second_low", rate(View::kSlow)},
          {"examples_per_second_high", rate(View::kFast)},
          {"efficiency", rate(View::kExpected) / plan.hosts / alone},
          {"global_batch", std::llround(plan.global_batch)},
          {"steps", std::llround(plan.steps)},
          {"job_seconds", plan.steps * row.step()},
          {"bytes_sent", std::llround(row.bytes_sent)},
          {"bottleneck", row.bottleneck()},
          {"step_seconds",
           {{"compute", row.compute},
            {"other", row.other},
            {"bandwidth", row.bandwidth},
            {"latency", row.latency},
            {"stragglers", row.stragglers}}}};
}

double number_in(const Event& event, const char* name) { return event.at(name).get<double>(); }

// The efficiencies of an exchange in percent, each up to the next number of hosts; the axis is logarithmic.
std::vector<double> efficiency_curve(const Event& rows, const std::string& exchange) {
  std::vector<double> curve(kTextPlotColumns);
  const double first = number_in(rows.front(), "hosts"), ratio = number_in(rows.back(), "hosts") / first;
  for (const Event& row : rows) {
    if (row.at("exchange") != exchange) continue;
    const double place = std::log(number_in(row, "hosts") / first) / std::log(ratio) * (kTextPlotColumns - 1);
    std::fill(curve.begin() + std::lround(place), curve.end(), 100 * number_in(row, "efficiency"));
  }
  return curve;
}

}  // namespace

Event forecast_cluster(const LoadedSpec& loaded, const JobPlan& job, const std::vector<int64_t>& hosts,
                       const std::string& link_text, const std::optional<std::string>& from) {
  const NetworkLink link = parse_link(link_text);
  require_covered(job.spec);
  require_alone("a forecast", {});
  std::vector<HostsPlan> plans;
  for (const int64_t number : hosts) plans.push_back(plan_hosts(loaded, job, number));
  ForecastJob of = forecast_job(job);
  if (from) {
    read_steps(*from, job, of);
  } else {
    measure_steps(job, of);
  }
  if (!(of.seconds.total() > 0))
    throw Error(ExitCode::kUsage, "{}: no step has times by phase{}", from ? printable(*from) : "the job",
                from ? ", since the run has not ended; use --calibrate" : "");
  Event rows = Event::array();
  Event notes = Event::array({"not known: what shares the network, slower hosts, evaluations, checkpoints"});
  for (const HostsPlan& plan : plans) {
    for (size_t i = 0; i < kExchangeNames.size(); ++i)
      rows.push_back(row_of(of, static_cast<Exchange>(i), plan, link));
  }
  if (job.device_of(0) != "cpu") notes.push_back("the exchange is forecast as gloo's, not as NCCL's");
  if (plans.back().global_batch > static_cast<double>(job.data.train_examples))
    notes.push_back("there are fewer examples than the most hosts would need for a step");
  return {{"name", job.spec.name},
          {"link", link_text},
          {"local_steps", of.local_steps},
          {"measured",
           {{"from", from.value_or("this host")},
            {"replicas", job.distributed_run().replicas},
            {"global_batch", of.global_batch},
            {"step_seconds", of.seconds.total()},
            {"phases_seconds", step_times_json(of.seconds)},
            {"durations", of.durations.size()},
            {"relative_uncertainty", relative_uncertainty(of.durations)}}},
          {"forecast", rows},
          {"notes", notes}};
}

std::string forecast_table(const Event& forecast, int width) {
  const Event &rows = forecast.at("forecast"), &measured = forecast.at("measured");
  TableRows table = {{"hosts", "exchange", "examples/s", "from", "to", "efficiency", "the job", "sent a step",
                      "bottleneck"}};
  for (const Event& row : rows) {
    if (row.at("hosts") == 1 && row.at("exchange") != kExchangeNames[0]) continue;  // there is no exchange
    table.push_back({show_count(row.at("hosts")), row.at("exchange"),
                     show_rate(row.at("examples_per_second")), show_rate(row.at("examples_per_second_low")),
                     show_rate(row.at("examples_per_second_high")),
                     fmt::format("{:.1f} %", number_in(row, "efficiency") * 100),
                     human_duration(number_in(row, "job_seconds")), human_bytes(row.at("bytes_sent")),
                     row.at("bottleneck")});
  }
  std::string times;
  for (const auto& [phase, seconds] : measured.at("phases_seconds").items())
    times += fmt::format("{}{} {}", times.empty() ? "" : ", ", phase,
                         show_milliseconds(seconds.get<double>() * 1e3));
  std::string text = fmt::format(
      "{}: hosts with {} and {} examples a step, joined by {}\none of them takes {} ms a step ({}), as {} "
      "says\n\n{}\n",
      printable(forecast.at("name").get<std::string>()), show_counted(measured.at("replicas"), "replica"),
      number_in(measured, "global_batch"), forecast.at("link").get<std::string>(),
      show_milliseconds(number_in(measured, "step_seconds") * 1e3), times,
      printable(measured.at("from").get<std::string>()),
      lay_out(table, {.ends_in_text = true, .width = width}));
  if (rows.front().at("hosts") != rows.back().at("hosts")) {
    TextPlot plot{.title = "efficiency in %: s synchronous, b 16 bits, l local steps, o sharded",
                  .marks = "lobs",
                  .x_begin = show_count(rows.front().at("hosts")),
                  .x_title = "hosts, by their logarithm",
                  .x_end = show_count(rows.back().at("hosts"))};
    for (const size_t exchange : {2, 3, 1, 0})
      plot.curves.push_back(efficiency_curve(rows, kExchangeNames[exchange]));
    text += text_plot(plot) + "\n";
  }
  text += fmt::format("local steps: {} between exchanges; they and 16 bits change what the job learns\n",
                      number_in(forecast, "local_steps"));
  for (const Event& note : forecast.at("notes")) text += note.get<std::string>() + "\n";
  return text;
}

}  // namespace dtrain
