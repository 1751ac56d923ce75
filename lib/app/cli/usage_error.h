// Explains what is wrong with a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace dtrain {

// Why `app` could not parse the command line, with a suggestion and where to find help. CLI11's own messages
// talk about counts and types, and list left-over arguments backwards.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Why the first word is not a subcommand; nullopt if it is one. CLI11 would only say that it was not
// expected.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, char** argv);

}  // namespace dtrain
