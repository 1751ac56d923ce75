// Errors about the files of a user's data.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>

#include "core/files.h"
#include "core/text.h"

namespace dtrain {

// Throws Error(kData): "FILE: fault".
[[noreturn]] inline void refuse_file(const std::filesystem::path& path, const std::string& fault) {
  throw Error(ExitCode::kData, "{}: {}", printable(path.string(), 1000), fault);
}
// With the fault as fmt::format makes it.
template <class... Values>
requires(sizeof...(Values) > 0)
    [[noreturn]] void refuse_file(const std::filesystem::path& path, fmt::format_string<Values...> fault,
                                  Values&&... values) {
  refuse_file(path, fmt::vformat(fault, fmt::make_format_args(values...)));
}

// The same after a system call that failed with `error` (errno), with file_failure_code(): "FILE: cannot be
// read: no such file or directory".
[[noreturn]] inline void fail_on_file(const std::filesystem::path& path, const char* what, int error) {
  throw Error(file_failure_code(error, ExitCode::kData), "{}: {}: {}", printable(path.string(), 1000), what,
              std::strerror(error));
}

}  // namespace dtrain
