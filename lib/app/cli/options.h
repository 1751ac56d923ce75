// The options of every subcommand, as CLI11 parses them, and completion scripts and manual pages from them.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"

namespace dtrain {

// The parsed command line: the options of every subcommand, and the action after parsing.
struct CommandLine {
  CLI::App app{
      "dtrain: a native distributed trainer. A YAML job spec in, a trained model and its numbers out.",
      "dtrain"};
  RunOptions run;
  PlanOptions plan;
  CacheCommandOptions cache;
  DataOptions data;
  SweepCommandOptions sweep;
  TuneCommandOptions tune;
  RateCommandOptions rates;
  BenchOptions bench;
  DoctorCommandOptions doctor;
  std::string benchmark;
  std::vector<std::string> specs;
  Overrides overrides;
  ReplicaOptions replica;
  InitOptions init;
  ConfigsOptions configs;
  EvalOptions eval;
  PredictOptions predict;
  ExportOptions exported;
  ResizeOptions resize;
  CompareOptions compare;
  WatchOptions watch;
  VerifyOptions verify;
  ReportOptions report;
  std::string shell;
  struct {
    std::string command;  // empty: the program
    std::string folder;   // empty: standard output
  } manual;
  std::string checkpoint;
  bool json = false;
  bool markdown = false;
  bool events = false;
  bool output_is_progress = false;  // the results are in files, so nothing is lost if standard output fails
  std::function<ExitCode()> action;

  CommandLine();

 private:
  void add_run();
  void add_validate();
  void add_init();
  void add_configs();
  void add_plan();
  void add_schema();
  void add_inspect();
  void add_eval();
  void add_predict();
  void add_export();
  void add_resize();
  void add_compare();
  void add_watch();
  void add_verify();
  void add_report();
  void add_cache();
  void add_data();
  void add_completion();
  void add_manual();
  void add_sweep();
  void add_tune();
  void add_find_lr();
  void add_bench();
  void add_doctor();
  void add_replica();
};

// An option with a value, or an argument, named as the help shows it: "--port PORT", "SPEC".
template <class Value>
CLI::Option* add_value(CLI::App* command, const std::string& shown, Value& value,
                       const std::string& description) {
  const size_t end = std::min(shown.find(' '), shown.size());
  return command->add_option(shown.substr(0, end), value, description)
      ->type_name(end < shown.size() ? shown.substr(end + 1) : "");
}

// Whether help lists it; other commands are started by dtrain itself.
inline bool is_visible(const CLI::App* command) { return !command->get_group().empty(); }

inline CLI::Range whole_numbers(int64_t least, int64_t most) { return {least, most}; }

// --set and --unset.
void add_overrides(CLI::App* command, Overrides& overrides);

// The shells that completion_script() supports.
const std::vector<std::string>& completion_shells();

// A script for `shell` that completes subcommands, their options and files. Throws Error(kUsage) for others.
std::string completion_script(CLI::App& app, const std::string& shell);

// The page of the program and those of its commands in the format of man, by the names of their files:
// "dtrain.1", "dtrain-run.1" and so on. Hidden commands have none.
std::map<std::string, std::string> manual_pages(CLI::App& app);

// Prints the page of `command`; of the program where that is empty. On a terminal man shows it, or where
// there is no man that can, it is the command's help; elsewhere it is in roff. Error(kUsage): no such one.
void show_manual_page(CLI::App& app, const std::string& command);

// Why `app` could not parse the command line, with a suggestion and where to find help. CLI11's own messages
// talk about counts and types, and list left-over arguments backwards.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Why the first word is not a subcommand; nullopt if it is one. CLI11 would only say it was not expected.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, char** argv);

}  // namespace dtrain
