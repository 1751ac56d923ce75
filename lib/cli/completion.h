// Shell completion, generated from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dtrain {

// A script for "bash", "zsh" or "fish" that completes subcommands, their options and files.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace dtrain
