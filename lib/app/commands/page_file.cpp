#include "commands/page_file.h"

#include "core/error.h"
#include "core/files.h"
#include "report/page.h"

namespace dtrain {
namespace {

constexpr int64_t kMostPageBytes = int64_t{1} << 30;

bool is_page(const std::filesystem::path& file) {
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(file)) &&
         is_report_page(read_file(file, kMostPageBytes, ExitCode::kUsage));
}

}  // namespace

void require_own_page(const std::filesystem::path& file, bool overwrite, const std::string& by) {
  if (overwrite || !std::filesystem::exists(std::filesystem::symlink_status(file)) || is_page(file)) return;
  throw Error(ExitCode::kUsage,
              "{} is there already, and not made by {}: --overwrite replaces it, --out names another",
              file.string(), by);
}

}  // namespace dtrain
