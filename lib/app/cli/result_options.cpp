// The options of the subcommands about runs and checkpoints.
#include <fmt/format.h>

#include <cstdint>

#include "cli/options.h"
#include "core/exit_codes.h"
#include "core/text.h"
#include "inference/evaluation.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

void add_checkpoint(CLI::App* command, CheckpointChoice& choice) {
  add_value(command, "CHECKPOINT", choice.path,
            "The folder of a checkpoint, or of a run for its newest good checkpoint")
      ->required();
  CLI::Option* best =
      command->add_flag("--best", choice.best,
                        "Use the run's checkpoint with the best evaluation: by checkpoint.best.metric, else "
                        "by the metric of early stopping, else by the loss");
  add_value(command, "--epoch N", choice.epoch, "Use the run's checkpoint from the end of epoch N")
      ->check(whole_numbers(1, 1'000'000))
      ->excludes(best);
}

Range steps_from(const std::string& text) {
  const std::vector<std::string> ends = split(text, ':');
  const auto first = whole_number(ends.front()), last = whole_number(ends.back());
  if (ends.size() != 2 || !first || !last || *first < 1 || *last < *first || *last == INT64_MAX)
    throw CLI::ValidationError(
        fmt::format("--steps {}: write the first and the last step, such as 100:200", printable(text)));
  return {*first, *last + 1};
}

}  // namespace

void CommandLine::add_inspect() {
  CLI::App* command =
      app.add_subcommand("inspect", "List what is in a checkpoint and verify every bit of it");
  add_value(command, "CHECKPOINT", checkpoint, "Folder of a checkpoint, of several checkpoints, or of a run")
      ->required();
  command->add_flag("--json", json, "Print the same as JSON");
  command->footer(
      exit_code_help({{ExitCode::kDone, "everything is as it was saved"},
                      {ExitCode::kCheckpoint, "something is damaged, or there is no checkpoint"}}));
  command->callback([this] { action = [this] { return inspect_command(checkpoint, json); }; });
}

void CommandLine::add_eval() {
  CLI::App* command = app.add_subcommand(
      "eval", "Evaluate a checkpoint on examples of its dataset: accuracy of each class, confusion matrix");
  CLI::App* replica = app.add_subcommand("eval-replica", "One replica process; started by dtrain eval");
  replica->group("");  // hidden
  for (CLI::App* one : {command, replica}) {
    add_checkpoint(one, eval.checkpoint);
    add_overrides(one, eval.evaluation.overrides);
    add_value(one, "--split PART", eval.evaluation.split,
              "Which examples: test (default), validation (data.split) or train")
        ->check(CLI::IsMember({"test", "validation", "train"}));
    add_value(one, "--mistakes N", eval.evaluation.mistakes,
              "List the files of at most N examples that the model puts into another class, the worst first")
        ->check(whole_numbers(1, 1'000'000));
  }
  add_value(command, "--data PATH", eval.data,
            "The folder or file of the dataset, or its address (--set data.path)");
  add_value(command, "--replicas N", eval.evaluation.replicas,
            "Processes that share the examples (default: 1)")
      ->check(whole_numbers(1, kMaxEvaluationReplicas));
  add_value(
      command, "--by GROUP", eval.evaluation.by,
      "Also print the metrics of each group: for a table the values of a column; for pictures `folder`, or a "
      "regular expression on their names");
  command->add_flag("--json", eval.json, "Print the same as JSON");
  command->footer(exit_code_help());
  command->callback([this] { action = [this] { return eval_command(eval); }; });
  replica->callback([this] { action = [this] { return eval_replica_command(eval); }; });
}

void CommandLine::add_predict() {
  CLI::App* command =
      app.add_subcommand("predict", "Predict images or rows of tables with a checkpoint's model");
  add_checkpoint(command, predict.checkpoint);
  predict.checkpoint.usage = "dtrain predict RUN FILE...";
  add_value(command, "FILE", predict.files,
            "JPEG, PNG, WebP, TIFF, GIF, BMP, PGM or PPM pictures, folders of them, IDX or .npy files of "
            "many; CSV, Parquet or .npy files of numbers")
      ->required();
  add_value(command, "--top K", predict.top, "How many classes to show, the most probable first (default: 3)")
      ->check(whole_numbers(1, 1'000'000));
  add_value(command, "--threshold P", predict.threshold,
            fmt::format("With {}: the lowest probability that means yes (default: 0.5); tables of several "
                        "outputs then say 1 or 0",
                        join(objectives_with(Outputs::kYesNoLogits), " or ")))
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--resize", predict.resize, "Scale images to the size that the model takes");
  CLI::Option* csv =
      command->add_flag("--csv", predict.csv,
                        "Print a table, for pictures too: the file, its class, and each class's probability");
  command->add_flag("--json", predict.json, "Print a line of JSON for each image instead")->excludes(csv);
  command->footer(
      exit_code_help({{ExitCode::kDone, "done"},
                      {ExitCode::kData, "a file is not an image that the model takes (others are predicted)"},
                      {ExitCode::kCheckpoint, "no usable checkpoint"}}));
  command->callback([this] { action = [this] { return predict_command(predict); }; });
}

void CommandLine::add_export() {
  CLI::App* command = app.add_subcommand("export", "Write a checkpoint's model for other programs");
  add_checkpoint(command, exported.checkpoint);
  exported.checkpoint.usage = "dtrain export RUN";
  add_value(command, "--format FORMAT", exported.format,
            "safetensors (default), or onnx or torchscript, which take pixels of 0 to 255")
      ->check(CLI::IsMember({"safetensors", "onnx", "torchscript"}));
  add_value(command, "--out FILE", exported.out,
            "The file (default: NAME.FORMAT in this folder, NAME.pt for torchscript)");
  command->add_flag("--uint8", exported.uint8, "onnx: the model takes pixels as bytes");
  command->add_flag("--softmax", exported.softmax, "onnx, torchscript: the model gives probabilities");
  command->add_flag("--overwrite", exported.overwrite, "Replace the file if it is there");
  command->footer(exit_code_help());
  command->callback([this] { action = [this] { return export_command(exported); }; });
}

void CommandLine::add_resize() {
  CLI::App* command = app.add_subcommand(
      "resize", "Change the number of replicas of a job while it runs (strategy.virtual_replicas)");
  add_value(command, "RUN", resize.run, "The folder of the run")->required();
  add_value(command, "--replicas N", resize.replicas, "The number of replicas from now on")
      ->check(whole_numbers(1, 1024))
      ->required();
  command->footer("The replicas save a checkpoint, and N replicas continue from it, to the same bytes.\n" +
                  exit_code_help({{ExitCode::kDone, "the job goes on with N replicas"},
                                  {ExitCode::kUsage, "it cannot have so many, or no dtrain runs it"}}));
  command->callback([this] { action = [this] { return resize_command(resize); }; });
}

void CommandLine::add_compare() {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare runs: what differs in their specs, speed, accuracy, time to accuracy");
  add_value(command, "RUN", compare.runs, "The folders of two runs or more; the first is the reference")
      ->required();
  add_value(command, "--max-regression PERCENT", compare.max_regression,
            "Exit with 8 if a run is worse than the first by more than this many percent")
      ->check(CLI::Range(0.0, 1000.0));
  command->add_flag("--json", compare.json, "Print the same as JSON");
  command->footer(exit_code_help({{ExitCode::kDone, "done"},
                                  {ExitCode::kUsage, "no such run"},
                                  {ExitCode::kRegression, "a run is worse than --max-regression allows"}}));
  command->callback([this] {
    if (compare.runs.size() < 2) {
      throw CLI::ValidationError(fmt::format(
          "only one run is named; name the run that {0} is compared with first: dtrain compare RUN "
          "{0}. A run's own baseline is in its summary.json, and in dtrain report {0}",
          printable(compare.runs.front())));
    }
    action = [this] { return compare_command(compare); };
  });
}

void CommandLine::add_watch() {
  CLI::App* command = app.add_subcommand(
      "watch", "Show runs while they train: curves, what each replica does, the machine, the time left");
  add_value(command, "RUN", watch.runs, "The folders of one run or more; finished ones too")->required();
  command->add_flag("--once", watch.once,
                    "Print one frame and exit. This is the default if the output is no terminal.");
  command->add_flag("--json", watch.json, "Print the same once, as JSON");
  command->footer("watch only reads. It ends when all runs have ended; q or Ctrl-C end it earlier.\n" +
                  exit_code_help({{ExitCode::kDone, "done, however the runs ended"},
                                  {ExitCode::kUsage, "no such run"},
                                  {ExitCode::kStopped, "stopped by a signal other than that of Ctrl-C"}}));
  command->callback([this] { action = [this] { return watch_command(watch); }; });
}

void CommandLine::add_verify() {
  CLI::App* command = app.add_subcommand(
      "verify", "Compute steps of a run again and compare their receipts; or compare those of two runs");
  add_value(command, "RUN", verify.runs,
            "The folder of a run with receipts (receipts.every_steps), or of two to compare with each other")
      ->required();
  CLI::Option* steps = command->add_option_function<std::string>(
      "--steps", [this](const std::string& text) { verify.steps = steps_from(text); },
      "Only the receipts of these steps; computes from the newest checkpoint before them (default: all, from "
      "the "
      "beginning)");
  steps->type_name("FIRST:LAST");
  CLI::Option* replicas =
      add_value(command, "--replicas N", verify.replicas,
                "Compute with N replicas; needs strategy.virtual_replicas (default: as the run)");
  replicas->check(whole_numbers(1, 1024));
  command->add_flag("--json", verify.json, "Print the same as JSON");
  command->footer(exit_code_help({{ExitCode::kDone, "the steps are the same"},
                                  {ExitCode::kUsage, "no such run, or it has no such receipts"},
                                  {ExitCode::kData, "the receipts are damaged, or the last ones are lost"},
                                  {ExitCode::kDiffers, "a step differs"}}));
  command->callback([this, replicas] {
    if (verify.runs.size() > 2)
      throw CLI::ValidationError(
          fmt::format("{} are named; at most 2 are compared", counted(std::ssize(verify.runs), "run")));
    if (verify.runs.size() > 1 && !replicas->empty())
      throw CLI::ValidationError(
          "--replicas is for computing one run again; two runs are compared as they are");
    action = [this] { return verify_command(verify); };
  });
}

void CommandLine::add_report() {
  CLI::App* command = app.add_subcommand("report",
                                         "Make one HTML page of runs, or of a sweep or tune: curves, "
                                         "mistakes, where time goes, environment, spec");
  add_value(command, "RUN", report.runs, "The folders of one run or more, or of a sweep or tune")->required();
  add_value(command, "--out FILE", report.out, "The file (default: report.html in this folder)");
  command->add_flag("--no-mistakes", report.without_mistakes,
                    "Do not predict the test examples to find the mistakes");
  command->add_flag("--overwrite", report.overwrite,
                    "Replace any file; an earlier page of dtrain report needs no --overwrite");
  command->footer(exit_code_help(
      {{ExitCode::kDone, "done"}, {ExitCode::kUsage, "no such run, or the file exists and is no report"}}));
  command->callback([this] { action = [this] { return report_command(report); }; });
}

}  // namespace dtrain
