// Manual pages, generated from the commands themselves, as help and completion are.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace dtrain {

// The page of the program and those of its commands in the format of man, by the names of their files:
// "dtrain.1", "dtrain-run.1" and so on. Hidden commands have none.
std::map<std::string, std::string> manual_pages(CLI::App& app);

// The page of `command`; of the program where that is empty. Throws Error(kUsage) if there is no such
// command.
std::string manual_page(CLI::App& app, const std::string& command);

}  // namespace dtrain
