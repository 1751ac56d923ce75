// Whether steps have become slow because other programs use the same cores.
#pragma once

#include <optional>
#include <string>

namespace dtrain {

class SlowSteps {
 public:
  // Steps took `step_ms` lately; until now, `seconds` after some moment, the threads of this process were
  // ready to compute without a core for `without_core` seconds, all together. Returns what to tell the user:
  // once, if they take at least twice as long as before while a fifth of the time is spent waiting so, or if
  // as much is spent waiting from the beginning.
  std::optional<std::string> look(double step_ms, double seconds, double without_core);
  // Steps are different ones from now on.
  void begin() { least_ms_.reset(); }

 private:
  struct Look {
    double seconds, without_core;
  };
  std::optional<double> least_ms_;
  std::optional<Look> first_, last_;
  bool told_ = false;
};

}  // namespace dtrain
