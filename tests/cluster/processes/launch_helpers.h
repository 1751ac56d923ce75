// What the launch tests share: the environment as it was, and shell scripts as replicas.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "launcher_variables.h"
#include "processes/supervisor.h"

namespace dtrain {

using Variables = std::map<std::string, std::string>;

// Sets exactly these of the variables that a launcher sets or dtrain looks at, and puts all back at the end.
class LauncherEnvironment {
 public:
  explicit LauncherEnvironment(const Variables& variables) {
    const auto take = [this](const char* name) {
      const char* const value = std::getenv(name);
      before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      ::unsetenv(name);
    };
    for (const char* name : kLauncherVariables) take(name);
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) take(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~LauncherEnvironment() {
    for (const auto& [name, value] : before_)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// One replica per script, run by /bin/sh; rank r logs to rank<r>.log in `folder`.
inline std::vector<ReplicaProcess> shell_replicas(const TemporaryFolder& folder,
                                                  const std::vector<std::string>& scripts) {
  std::vector<ReplicaProcess> replicas;
  for (size_t rank = 0; rank < scripts.size(); ++rank) {
    replicas.push_back(
        {{"/bin/sh", "-c", scripts[rank]}, {}, folder / ("rank" + std::to_string(rank) + ".log")});
  }
  return replicas;
}

}  // namespace dtrain
