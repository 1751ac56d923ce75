#include "initial_state/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "core/addresses.h"
#include "core/error.h"
#include "core/text.h"
#include "optim/optimizer_kinds.h"
#include "spec/fields.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostChanges = 10;  // of a spec, in one line

// Without the empty last part of "runs/mine/".
fs::path plain(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

// False, too, of a run that this user may not read. A disk that fails is an error: the run may be the newest.
bool has_checkpoints(const fs::path& run) {
  try {
    return !list_checkpoints(checkpoint_folder(run)).empty();
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDisk) throw;
    return false;
  }
}

fs::path newest_run(const RunDirectoryOptions& options) {
  std::pair newest(fs::file_time_type::min(), fs::path());  // this clock's zero lies in the future
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(options.parent, none)) {
    const fs::path& run = entry.path();
    if (!is_named_for(run.filename(), options.name) || !has_checkpoints(run)) continue;
    const std::pair candidate(fs::last_write_time(checkpoint_folder(run), none), run);
    if (candidate > newest) newest = candidate;
  }
  if (!newest.second.empty()) return newest.second;
  throw Error(
      ExitCode::kCheckpoint,
      "{}: there is no folder {}-TIME with checkpoints; name a run with --resume RUN, or start without "
      "--resume",
      options.parent.string(), options.name);
}

ResumePoint from_checkpoint(const fs::path& path) {
  const CheckpointReport report = inspect_checkpoint(path);
  if (!report.problems.empty()) {
    throw Error(ExitCode::kCheckpoint, "{} cannot be used: {}; for the newest good one, name the run: {}",
                path.string(), report.problems.front(), run_of_checkpoint(path).string());
  }
  return {run_of_checkpoint(path), path, *report.state, {}};
}

// "data.split {validation: 0.1, seed: 1}", "no data.split": different for splits with different parts.
std::string split_text(const SplitSpec& split) {
  std::vector<std::string> parts;
  if (split.test) parts.push_back("test: " + number_text(*split.test));
  if (split.validation) parts.push_back("validation: " + number_text(*split.validation));
  if (split.folds) parts.push_back(fmt::format("folds: {}, fold: {}", *split.folds, split.fold));
  if (parts.empty()) return "no data.split";
  parts.push_back(fmt::format("seed: {}", split.seed));
  if (split.stratify) parts.push_back("stratify: true");
  if (split.group) parts.push_back("group: " + *split.group);
  if (split.time) parts.push_back("time: " + *split.time);
  return fmt::format("data.split {{{}}}", printable(join(parts)));
}

// What makes `now` like `split`.
std::string split_overrides(const SplitSpec& split, const SplitSpec& now) {
  std::vector<std::string> settings;
  if (split.test) settings.push_back("--set data.split.test=" + number_text(*split.test));
  settings.push_back("--set data.split.validation=" +
                     (split.validation ? number_text(*split.validation) : "none"));
  if (split.folds)
    settings.push_back(
        fmt::format("--set data.split.folds={} --set data.split.fold={}", *split.folds, split.fold));
  else if (now.folds)
    settings.emplace_back("--set data.split.folds=none");
  if (split.test || split.validates())
    settings.push_back(fmt::format("--set data.split.seed={}", split.seed));
  if (split.stratify != now.stratify)
    settings.push_back(fmt::format("--set data.split.stratify={}", split.stratify));
  if (split.group != now.group)
    settings.push_back("--set " + shell_word("data.split.group=" + split.group.value_or("none")));
  if (split.time != now.time)
    settings.push_back("--set " + shell_word("data.split.time=" + split.time.value_or("none")));
  return join(settings, " ");
}

// "54,000 examples", "54,000 examples and 6,000 for validation"
std::string examples_text(int64_t train, int64_t validation) {
  const std::string kept =
      validation > 0 ? fmt::format(" and {} for validation", with_separators(validation)) : "";
  return fmt::format("{} examples{}", with_separators(train), kept);
}

bool lists_layers(const std::string& path) { return path == "model.layers" || path == "model.head"; }

// Of a model's layers, what changes neither their variables nor what they compute from them.
std::string text_of_layers(const JobSpec& spec, const std::string& path) {
  nlohmann::ordered_json layers = to_json(*find_field(job_fields(), path), spec);
  for (auto& layer : layers) {
    for (const char* name : {"initializer", "rate"}) layer.erase(name);
  }
  return layers.dump();
}

// What the optimizer remembers of each parameter.
std::vector<std::string> memory_of(const OptimizerSpec& spec) {
  return optimizer_method(spec.kind).memory(spec);
}

// Which optimizer each parameter has.
std::string text_of_optimizers(const JobSpec& spec) {
  std::string text;
  for (const auto& [parameters, optimizer] : spec.train.optimizers)
    text += fmt::format("{} {} {}\n", parameters, optimizer.kind, join(memory_of(optimizer)));
  return text;
}

std::string change(const Field<JobSpec>& field, const JobSpec& now, const JobSpec& saved) {
  if (lists_layers(field.path)) return field.path + " has other layers";
  if (field.path == "model.sha256" && now.model.sha256 && saved.model.sha256)
    return fmt::format("model.file has other bytes: their SHA-256 is {}, and was {}", *now.model.sha256,
                       *saved.model.sha256);
  const auto text = [&field](const JobSpec& spec) {
    const nlohmann::ordered_json value = to_json(field, spec);
    return value.is_null() ? "not set" : printable(value.dump());
  };
  return fmt::format("{} is {}, and was {}", field.path, text(now), text(saved));
}

// "train.epochs is 8, and was 5" for each field that differs, whether it may or not.
std::vector<std::string> changed_fields(const JobSpec& now, const JobSpec& saved) {
  std::vector<std::string> changes;
  for (const auto& field : job_fields()) {
    if (to_json(field, now) != to_json(field, saved)) changes.push_back(change(field, now, saved));
  }
  return changes;
}

// A line for each field that differs and must not, for the saved variables to mean the same: those of the
// model (but for dropout, initializer and weights), the loss, the kind of optimizer and what it remembers.
std::vector<std::string> different_training(const JobSpec& now, const JobSpec& saved) {
  std::vector<std::string> differences;
  const auto differ = [&](const std::string& path) {
    if (lists_layers(path)) return text_of_layers(now, path) != text_of_layers(saved, path);
    if (path == "train.optimizers") return text_of_optimizers(now) != text_of_optimizers(saved);
    if (path == "train.optimizer.momentum")
      return memory_of(now.train.optimizer) != memory_of(saved.train.optimizer);
    if (path == "train.ema.decay") return (now.train.ema.decay > 0) != (saved.train.ema.decay > 0);
    const auto* field = find_field(job_fields(), path);
    return to_json(*field, now) != to_json(*field, saved);
  };
  for (const auto& field : job_fields()) {
    const bool of_model = field.path.rfind("model.", 0) == 0 && field.path != "model.dropout" &&
                          field.path != "model.initializer" && field.path != "model.file" &&
                          field.path.rfind("model.weights", 0) != 0 && applies(job_fields(), field, now) &&
                          applies(job_fields(), field, saved);
    const bool of_training =
        field.path == "train.loss.kind" || field.path == "train.optimizer.kind" ||
        field.path == "train.optimizers" || field.path == "plugin_versions" ||
        field.path == "train.ema.decay" ||
        (field.path == "train.optimizer.momentum" && now.train.optimizer.kind == saved.train.optimizer.kind);
    if ((!of_model && !of_training) || !differ(field.path)) continue;
    differences.push_back(change(field, now, saved));
  }
  return differences;
}

}  // namespace

bool is_checkpoint(const fs::path& path) {
  const auto beside = list_checkpoints(path.parent_path());
  return std::ranges::any_of(
      beside, [&](const SavedCheckpoint& saved) { return saved.path.filename() == path.filename(); });
}

fs::path checkpoint_folder(const fs::path& run) { return run / "checkpoints"; }

fs::path run_of_checkpoint(const fs::path& from) {
  const fs::path path = plain(from);
  if (path.filename() == "checkpoints") return path.parent_path();
  return is_checkpoint(path) ? path.parent_path().parent_path() : path;
}

ResumePoint find_resume_point(const std::string& from, const RunDirectoryOptions& options) {
  fs::path path = plain(from);
  if (from == "auto") path = options.directory ? plain(*options.directory) : newest_run(options);
  ResumePoint point;
  point.run = run_of_checkpoint(path);
  // Now: it may end while its checkpoint of this moment is read, and have a newer one then.
  std::error_code there_is_none;
  const bool goes_on_there =
      !options.directory || fs::equivalent(*options.directory, point.run, there_is_none);
  if (options.resumes && goes_on_there && is_in_use(point.run))
    throw Error(ExitCode::kUsage,
                "{}: another dtrain is using this run directory; wait until it has ended, or choose another "
                "with --run-dir",
                point.run.string());
  if (is_checkpoint(path)) return from_checkpoint(path);
  point.checkpoint = latest_good_checkpoint(
      checkpoint_folder(point.run), [&](const std::string& warning) { point.warnings.push_back(warning); });
  point.state = read_manifest(point.checkpoint).state;
  return point;
}

std::string resume_text(const JobPlan& job, const ResumePoint& from) {
  std::string text =
      fmt::format("resuming {} from step {} of {}", from.run.string(), with_separators(from.state.step),
                  with_separators(job.distributed_run().total_steps));
  if (from.state.epoch > 0) text += ", after " + counted(from.state.epoch, "epoch");
  const LoadedSpec saved = parse_spec(from.state.spec, "the checkpoint's spec");
  if (!saved.ok()) return text;
  std::vector<std::string> changes = changed_fields(job.spec, saved.spec);
  const size_t all = changes.size();
  changes.resize(std::min(all, kMostChanges));
  if (all > kMostChanges) changes.push_back(fmt::format("{} more", all - kMostChanges));
  return text + "; " + (changes.empty() ? "the spec is the same" : join(changes, "; "));
}

std::string complete_text(const JobPlan& job, const ResumePoint& from) {
  const int64_t done = from.state.step, asked = job.distributed_run().total_steps;
  if (done < asked) return "";
  const char* const field = job.spec.train.max_steps   ? "train.max_steps"
                            : !job.spec.phases.empty() ? "epochs of the phases"
                                                       : "train.epochs";
  if (done == asked)
    return fmt::format("{} is complete: all {} steps are done; more {} would continue it", from.run.string(),
                       with_separators(done), field);
  return fmt::format(
      "{} has done {} in {}, and this job asks for {} only: nothing is left to train; more {} would "
      "continue it",
      from.run.string(), counted(done, "step"), counted(from.state.epoch, "epoch"), counted(asked, "step"),
      field);
}

void require_resumable(const JobPlan& job, const TrainingState& state, const std::string& other_model) {
  const RunPlan& run = job.distributed_run();
  std::vector<std::string> differences;
  if (!other_model.empty()) differences.push_back(other_model);
  const LoadedSpec saved = parse_spec(state.spec, "the checkpoint's spec");
  if (saved.ok()) {
    for (std::string& difference : different_training(job.spec, saved.spec))
      differences.push_back(difference);
  }
  for (const Problem& problem : saved.problems) {
    if (problem.path.starts_with("plugin")) differences.push_back(problem.path + ": " + problem.text);
  }
  if (state.global_batch != run.batch.global) {
    differences.push_back(
        fmt::format("it was trained with a global batch of {}, and {} replica{} would train with {}; use "
                    "--set batch.global={}",
                    state.global_batch, run.replicas, run.replicas == 1 ? " now" : "s now", run.batch.global,
                    state.global_batch));
  }
  const std::string was = split_text(saved.spec.data.split), is = split_text(job.spec.data.split);
  if (saved.ok() && was != is) {
    differences.push_back(
        fmt::format("it was trained with {}, and this job has {}: examples would be trained on as well as "
                    "validated on; use {}",
                    was, is, split_overrides(saved.spec.data.split, job.spec.data.split)));
  } else if (state.train_examples != job.data.train_examples ||
             state.validation_examples != job.data.validation_examples) {
    differences.push_back(fmt::format("it was trained on {}, and now there are {}",
                                      examples_text(state.train_examples, state.validation_examples),
                                      examples_text(job.data.train_examples, job.data.validation_examples)));
  }
  // With and without the files of a dataset: the examples are others, however many there are.
  const bool same_spec = saved.ok() && saved.spec.data.dataset == job.spec.data.dataset;
  if (same_spec && !state.dataset.empty() && state.dataset != job.data.name)
    differences.push_back(
        fmt::format("it was trained on {}, and data.dataset: {} is {} here; use --set data.dataset={}",
                    state.dataset, job.spec.data.dataset, job.data.name, state.dataset));
  if (!state.content.empty() && !job.data.content.empty() && state.content != job.data.content)
    differences.push_back(fmt::format("it was trained on other files than those that are at {} now",
                                      shown_address(job.data.source)));
  if (state.position > 0 && !saved.ok()) differences.push_back("its spec is not one of this dtrain");
  const DataSpec &before = saved.spec.data, &now = job.spec.data;
  const bool same_order = saved.spec.seed == job.spec.seed && before.shuffle == now.shuffle &&
                          before.sampling == now.sampling && before.drop_remainder == now.drop_remainder;
  if (state.position > 0 && saved.ok() && !same_order) {
    differences.push_back(fmt::format(
        "it is from within an epoch, and seed, data.shuffle, data.sampling and "
        "data.drop_remainder decide which examples are left of that; use --set seed={} --set "
        "data.shuffle={} --set data.sampling={} --set data.drop_remainder={}",
        saved.spec.seed, saved.spec.data.shuffle, saved.spec.data.sampling, saved.spec.data.drop_remainder));
  } else if (state.step > 0 && saved.ok() && job.data.train_examples % run.batch.global != 0 &&
             saved.spec.data.drop_remainder != job.spec.data.drop_remainder) {
    differences.push_back(
        fmt::format("data.drop_remainder is {} now: an epoch would have another number of steps than those "
                    "that are done; use --set data.drop_remainder={}",
                    job.spec.data.drop_remainder, saved.spec.data.drop_remainder));
  }
  if (differences.empty()) return;
  const bool is_explained = other_model.empty() || differences.size() > 1;  // else the checkpoint is at fault
  throw Error(is_explained ? ExitCode::kUsage : ExitCode::kCheckpoint,
              "cannot resume from the checkpoint: " + join(differences, "\n  "));
}

}  // namespace dtrain
