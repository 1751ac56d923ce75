// Shell completion, generated from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dtrain {

// The shells that there is a script for.
const std::vector<std::string>& completion_shells();

// A script for one of them that completes subcommands, their options and files. Throws Error(kUsage) for
// another shell.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace dtrain
