#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "core/error.h"
#include "core/text.h"
#include "job/other_replicas.h"
#include "runs/run_directory.h"

namespace dtrain {

ExitCode resize_command(const ResizeOptions& options) {
  const std::filesystem::path run = options.run;
  require_run(run, ExitCode::kUsage, "dtrain resize RUN");
  const int64_t before = resize(run, options.replicas);
  std::cout << fmt::format("{} goes on with {} (before: {})\n", printable(run.string()),
                           counted(options.replicas, "replica"), before);
  return ExitCode::kDone;
}

}  // namespace dtrain
