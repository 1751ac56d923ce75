// What is wrong with a command line, in words for people.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace dtrain {

// Why `app` could not parse the command line, with what was probably meant and where help is found. CLI11's
// own messages speak of counts and types, and list what is left over backwards.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Why the first word is no subcommand: CLI11 would only say that it was not expected. nullopt when it is one.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, char** argv);

}  // namespace dtrain
