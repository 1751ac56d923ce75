#include "core/own_program.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"

namespace dtrain {

std::filesystem::path own_program(const std::filesystem::path& link) {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink(link, error);
  if (!error) return program;
  throw Error(
      ExitCode::kUsage,
      fmt::format(
          "{}: {}: dtrain needs it to start its processes; mount /proc (mount -t proc proc /proc), or give "
          "the container access to it",
          link.string(), error.message()));
}

}  // namespace dtrain
