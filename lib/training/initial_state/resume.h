// Resuming from a checkpoint of an earlier process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "plan/job_plan.h"
#include "runs/run_directory.h"

namespace dtrain {

// How a replica takes part in a run: where the run's folder is, and whether it resumes.
struct RunContext {
  std::filesystem::path folder;           // rank 0 writes into it
  bool resumes = false;                   // from a checkpoint; the same on every rank
  std::filesystem::path checkpoint = {};  // which one; empty on other ranks than 0
};

struct ResumePoint {
  std::filesystem::path run;         // the folder of the run that saved it
  std::filesystem::path checkpoint;  // verified to the last bit
  TrainingState state;
  std::vector<std::string> warnings;  // a line for each newer checkpoint that is damaged
};

// Whether `path` has the name of a checkpoint beside others.
bool is_checkpoint(const std::filesystem::path& path);

// Where a run keeps its checkpoints.
std::filesystem::path checkpoint_folder(const std::filesystem::path& run);

// The run that `from` is about: the folder of a run, of its checkpoints, or of one checkpoint.
std::filesystem::path run_of_checkpoint(const std::filesystem::path& from);

// Finds the checkpoint that `--resume from` resumes from. A single checkpoint must itself be good; of a run,
// the newest good one is taken. "auto" is the run in `options.directory`, or without a directory the newest
// run of the job's name that has checkpoints. Throws Error(kCheckpoint) when there is no good one, and
// Error(kUsage) if a job that resumes would go on in the folder of one that runs.
ResumePoint find_resume_point(const std::string& from, const RunDirectoryOptions& options);

// For people: where a job goes on, and how its spec differs from that of the checkpoint.
std::string resume_text(const JobPlan& job, const ResumePoint& from);

// For people, why nothing is left to train of a job that resumes; empty if something is.
std::string complete_text(const JobPlan& job, const ResumePoint& from);

// Throws Error(kUsage) with all reasons why the distributed run of `job` cannot resume from `state`: its
// variables are of another model (`other_model` says how; where nothing else differs the code is
// kCheckpoint), it minimised another loss or with another optimizer, or it would not train on each of the
// same examples once.
void require_resumable(const JobPlan& job, const TrainingState& state, const std::string& other_model = "");

}  // namespace dtrain
