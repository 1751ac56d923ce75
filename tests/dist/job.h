// A job in a folder of its own: its spec, its run directory, its processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "metrics/event.h"
#include "program.h"

namespace dtrain {

// Some hundred steps on generated data, within a fraction of a second; no baseline.
extern const char* const kSmallSpec;
// For a job that goes on until someone ends it: add to the arguments.
extern const std::vector<std::string> kEndless;

using Arguments = std::vector<std::string>;

// What /proc tells of a process.
struct ReplicaInfo {
  pid_t process = 0;
  int rank = 0;
  std::string run;  // "baseline", "overhead", "distributed"
};

// The seconds of computing of a process so far; 0 if there is none.
double cpu_seconds_of(pid_t process);

class Job {
 public:
  explicit Job(const std::string& spec = kSmallSpec);
  ~Job();  // ends what is left of it
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  std::filesystem::path folder() const { return folder_.path(); }
  std::filesystem::path spec_file() const { return folder_ / "job.yaml"; }
  std::filesystem::path run_folder() const { return folder_ / "run"; }
  std::filesystem::path log(const std::string& run, int rank) const;

  // "run job.yaml --run-dir RUN" and more.
  Arguments run(const Arguments& more = {}) const;
  // "--set name=value" twice a field.
  static Arguments set(const Arguments& overrides);

  // The complete lines of metrics.jsonl; empty while there is none. Without those about the machine, which
  // come as often as a job is long, and the warning that it has fewer cores than the job has processes.
  std::vector<Event> events() const;
  std::vector<Event> events(const std::string& kind, const std::string& run = "") const;
  // The only event of this kind and run; fails the test when there is another number of them.
  Event event(const std::string& kind, const std::string& run) const;
  // Waits until the run has trained its first steps. Fails the test when that takes too long.
  void wait_for_step(const std::string& run = "distributed") const;
  // Waits until a worker has met every parameter server. A server that is just connecting to one that dies
  // waits for it up to the timeout.
  void wait_for_connections(int worker) const;

  // Processes whose command line has this folder in it: supervisors and replicas.
  std::vector<pid_t> processes() const;
  // Those of them that are replicas and run their program already.
  std::vector<ReplicaInfo> replicas() const;
  std::optional<ReplicaInfo> replica(int rank, const std::string& run = "distributed") const;
  // Waits until there is one. Fails the test when that takes too long.
  ReplicaInfo wait_for_replica(int rank, const std::string& run = "distributed") const;
  bool is_gone(double seconds = kSoon) const;  // nothing of it runs, at the latest after `seconds`

 private:
  TemporaryFolder folder_;
};

// A port of loopback that was free a moment ago, another one each time.
std::string free_port();

std::vector<std::string> lines_of(const std::string& text);
std::string last_line(const std::string& text);

// Arguments one after the other.
Arguments operator+(Arguments a, const Arguments& b);

}  // namespace dtrain
