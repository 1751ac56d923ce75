// Shell completion scripts, generated from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dtrain {

// The shells that are supported.
const std::vector<std::string>& completion_shells();

// A script for `shell` that completes subcommands, their options and files. Throws Error(kUsage) if the shell
// is not supported.
std::string completion_script(CLI::App& app, const std::string& shell);

}  // namespace dtrain
