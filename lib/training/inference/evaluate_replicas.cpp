#include "inference/evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "callbacks/kept_examples.h"
#include "core/clock.h"
#include "crypto/crypto.h"
#include "host/cores.h"
#include "host/own_process.h"
#include "job/replica_process.h"
#include "metrics/event.h"
#include "parallel/parallel_blocks.h"
#include "store/store.h"
#include "train/assembly.h"
#include "train/meeting.h"

namespace dtrain {

// As replicas report them.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExampleName, file, row, index)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WrongExample, index, name, label, prediction, probability, of_label)

namespace {

constexpr size_t kBytesPerReport = 240'000;  // of whole numbers; far below the limit of a report line

// Only rank 0's variables matter: the other ranks start from arbitrary ones.
std::shared_ptr<Model> model_of_rank(const JobPlan& job, const std::filesystem::path& checkpoint, int rank) {
  return rank == 0 ? trained_model(job, load_model(checkpoint)) : initial_model(job);
}

// Lines of at most kBytesPerReport of `numbers`, which are named `name`. As bytes: there may be millions, and
// a loss may be infinite, which JSON's numbers are not.
template <class Number>
void report_numbers(const std::string& name, const std::vector<Number>& numbers, ReportPipe& pipe) {
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(Number));
  for (size_t begin = 0; begin < bytes.size(); begin += kBytesPerReport)
    pipe.write(event_text(
        Event{{"event", name}, {name, base64(std::string(bytes.substr(begin, kBytesPerReport)))}}));
}

// Every rank tells its own mistakes, and rank 0 the sums of all.
void collect(int rank, const std::string& line, EvaluationSums& sums, WorstMistakes& worst) {
  const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object()) return;
  if (event.value("event", "") == "mistake")
    worst.add(nlohmann::json(event.at("mistake")).get<WrongExample>());
  if (rank != 0) return;
  const auto append = [&](const char* name, auto& numbers) {
    const std::string bytes = from_base64(event.value(name, ""));
    const size_t before = numbers.size();
    numbers.resize(before + bytes.size() / sizeof(numbers[0]));
    if (!bytes.empty()) std::memcpy(&numbers[before], bytes.data(), bytes.size());
  };
  append("counts", sums.counts);
  append("confusion", sums.confusion);
  append("sums", sums.sums);
  append("examples", sums.examples);
}

void take_part(const EvaluationJob& evaluation, const Identity& identity, StatusBoard& board,
               ReportPipe& pipe) {
  const auto doing = [&](Activity activity) { board.set(identity.local_rank, activity, 0); };
  const LoadedSpec spec = spec_of_checkpoint(evaluation.checkpoint, evaluation.overrides);
  const PlannedJob planned = job_of_checkpoint(evaluation.checkpoint, spec, find_dataset);
  if (!planned.ok()) throw Error(ExitCode::kUsage, planned.problems.front().to_string());
  const JobPlan& job = planned.job;
  const int threads = std::max(1, available_cores() / identity.local_world_size);
  compute_with(threads);
  keep_to_own_cores(identity.local_rank, identity.local_world_size, threads);
  doing(Activity::kLoadingData);
  const ExampleSourcePtr examples = load_examples(job, evaluation.split);
  doing(Activity::kBuilding);
  const auto model = model_of_rank(job, evaluation.checkpoint, identity.rank);
  model->eval();
  doing(Activity::kConnecting);
  const auto timeout = to_milliseconds(job.spec.strategy.timeout_seconds);
  const StorePtr store = connect_to_job(identity, timeout);
  // Rank 0 has read the model from what may be a slow disk.
  wait_for_ranks(store, identity.rank, identity.world_size, std::max(timeout, rendezvous_timeout(job.spec)));
  const auto group = make_group("auto", store, identity.rank, identity.world_size, timeout);
  group->set_on_wait([&] { doing(Activity::kCommunicating); });
  doing(Activity::kEvaluating);
  const EvaluationSums sums = evaluate_model(job, *model, examples, *group,
                                             static_cast<size_t>(evaluation.mistakes), /*keeps_rows=*/true);
  for (const WrongExample& one : sums.mistakes)
    pipe.write(event_text(Event{{"event", "mistake"}, {"mistake", nlohmann::json(one)}}));
  if (identity.rank == 0) {
    report_numbers("counts", sums.counts, pipe);
    report_numbers("confusion", sums.confusion, pipe);
    report_numbers("sums", sums.sums, pipe);
    report_numbers("examples", sums.examples, pipe);
  }
  doing(Activity::kFinished);
}

// Starts the replicas as processes. Fills in `sums` if all succeed; the return value reports what failed.
SuperviseResult supervise_evaluation(const EvaluationJob& evaluation, const JobPlan& job,
                                     EvaluationSums& sums) {
  Subcommand subcommand;
  std::vector<std::string>& arguments = subcommand.arguments;
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) arguments.insert(arguments.end(), {option, value});
  };
  arguments = {own_program().string()};
  add("--plugin", job.spec.plugins);  // where they are now
  arguments.insert(arguments.end(),
                   {"eval-replica", evaluation.checkpoint.string(), "--split", evaluation.split});
  if (evaluation.mistakes > 0) add("--mistakes", {std::to_string(evaluation.mistakes)});
  add("--unset", evaluation.overrides.unset);
  add("--set", evaluation.overrides.set);
  subcommand.replicas = static_cast<int>(evaluation.replicas);
  subcommand.threads = std::max<int64_t>(1, available_cores() / evaluation.replicas);
  WorstMistakes worst(static_cast<size_t>(evaluation.mistakes));
  subcommand.on_report = [&](int rank, const std::string& line) { collect(rank, line, sums, worst); };
  SuperviseResult ended = supervise_subcommand(subcommand);
  sums.mistakes = worst.take();
  return ended;
}

}  // namespace

SuperviseResult evaluate(const EvaluationJob& evaluation, const JobPlan& job, Evaluation& result) {
  const bool alone = evaluation.replicas == 1, is_grouped = !evaluation.by.empty();
  const ExampleSourcePtr examples = alone || is_grouped ? load_examples(job, evaluation.split) : nullptr;
  ExampleGroups groups;
  if (is_grouped) {
    if (const std::string why_not = why_not_kept(job, examples->size()); !why_not.empty())
      throw Error(ExitCode::kUsage, "--by: {}; leave it out", why_not);
    groups = groups_of(job, *examples, evaluation.by);
  }
  EvaluationSums sums;
  SuperviseResult ended;
  if (alone) {
    compute_with(available_cores());
    sums = evaluate_model(job, *model_of_rank(job, evaluation.checkpoint, 0), examples, *make_single_group(),
                          static_cast<size_t>(evaluation.mistakes), /*keeps_rows=*/true);
  } else {
    ended = supervise_evaluation(evaluation, job, sums);
  }
  if (ended.code != ExitCode::kDone) return ended;
  result = evaluation_from(sums, job);
  if (sums.examples.empty()) return ended;
  const ExampleResults results =
      results_of(job, evaluation.split, at::tensor(sums.examples, at::kFloat).view({result.examples, -1}));
  if (is_grouped) result.groups = metrics_by_group(results, groups);
  result.intervals = intervals_of(results);
  return ended;
}

ExitCode run_evaluation_replica(const EvaluationJob& evaluation) {
  return run_supervised([&](const Identity& identity, StatusBoard& board, ReportPipe& pipe) {
    take_part(evaluation, identity, board, pipe);
  });
}

}  // namespace dtrain
