#include "cli/version_text.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <filesystem>

#include "core/files.h"
#include "core/own_program.h"
#include "core/version.h"

namespace dtrain {
namespace {

constexpr int64_t kMostBytes = 1'000'000;

}  // namespace

std::string short_version() { return fmt::format("dtrain {} (LibTorch {})", kVersion, TORCH_VERSION); }

std::string long_version() {
  const std::filesystem::path components = own_program().parent_path() / "../share/doc/dtrain/COMPONENTS";
  std::string inside =
      "This program is not installed. It uses the libraries of this machine, which docs/dependencies.md "
      "lists.";
  if (std::filesystem::exists(components)) inside = read_file(components, kMostBytes, ExitCode::kUsage);
  while (!inside.empty() && inside.back() == '\n') inside.pop_back();
  return short_version() + "\nLicence: Apache-2.0\n\n" + inside;
}

}  // namespace dtrain
