// The program as its users meet it: a process with arguments, an environment, standard streams and an end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

// Seconds in which what is to happen soon happens, on a busy machine too. What is noticed only when it does
// not answer takes longer: strategy.timeout_seconds, which is 60.
constexpr double kSoon = 50;

// Looks until `condition` holds, for at most `seconds`; returns whether it did.
bool eventually(double seconds, const std::function<bool()>& condition);

struct ProgramOptions {
  std::map<std::string, std::string> environment;  // added to this process's, without a launcher's variables
  std::string working_folder;                      // this process's when empty
  int output = -1, errors = -1;                    // standard output and error instead of files
  std::string terminal;                            // the controlling terminal and all three streams instead
  std::function<void()> before_exec;               // in the child: only async-signal-safe calls
};

struct Finished {
  int exit_code = 0;  // 128 + N when signal N ended it
  std::string output;
  std::string errors;
  double seconds = 0;  // since wait() was called
};

class Program {
 public:
  // Starts `program` (that under test by default). It dies with this process.
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {},
                   const std::string& program = DTRAIN_PROGRAM);
  ~Program();  // kills it
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t process() const { return process_; }
  void send(int signal) const;
  bool has_ended();
  // Fails the test, with what the program printed, when it does not end in time.
  Finished wait(double seconds = kSoon);
  std::string output() const;
  std::string errors() const;

 private:
  pid_t process_ = -1;
  std::optional<int> status_;  // as waitpid() tells it
  Descriptor output_;
  Descriptor errors_;
};

// Runs it from start to end.
Finished run_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {},
                     double seconds = kSoon);

// A terminal that a person types into and looks at.
class Terminal {
 public:
  explicit Terminal(int columns = 100);
  const std::string& name() const { return name_; }
  void type(const std::string& text) const;
  // All that was shown so far.
  const std::string& shown();

 private:
  Descriptor person_;  // our end
  std::string name_;   // of the program's end
  std::string shown_;
};

}  // namespace dtrain
