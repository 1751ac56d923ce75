// Jobs over several hosts, whose supervisors are all on this one and meet over loopback.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "job.h"

namespace dtrain {

inline const char* const kHosts[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
inline const Arguments kSeveral = Job::set({"strategy.kind=multi_worker_mirrored"});

// What tells a process that it is host `index` of so many.
std::string tf_config(int hosts, int index, const std::string& port);

// A supervisor on each host; each has the job's folder, which they share as on a network's disk.
class Hosts {
 public:
  Hosts(const Job& job, int hosts) : job_(job), hosts_(hosts), port_(free_port()) {}

  Program& start(int index, const Arguments& more = {}, const std::string& token = "a token for all hosts") {
    return start_as(index, job_.run(kSeveral + more), token);
  }

  Program& start_as(int index, const Arguments& arguments,
                    const std::string& token = "a token for all hosts") {
    ProgramOptions options;
    options.environment = {{"TF_CONFIG", tf_config(hosts_, index, port_)}, {"DTRAIN_JOB_TOKEN", token}};
    programs_.push_back(std::make_unique<Program>(arguments, options));
    last_[index] = programs_.back().get();
    return *programs_.back();
  }

  const std::string& port() const { return port_; }
  // That was started last on a host.
  Program& program(int index) { return *last_.at(index); }
  Finished wait(int index, double seconds = 60) { return program(index).wait(seconds); }

 private:
  const Job& job_;
  int hosts_;
  std::string port_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::map<int, Program*> last_;  // by host
};

}  // namespace dtrain
