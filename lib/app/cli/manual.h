// Manual pages, generated from the commands themselves, as help and completion are.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace dtrain {

// The page of the program and those of its commands in the format of man, by the names of their files:
// "dtrain.1", "dtrain-run.1" and so on. Hidden commands have none.
std::map<std::string, std::string> manual_pages(CLI::App& app);

// Prints the page of `command`; of the program where that is empty. On a terminal man shows it, or where
// there is no man that can, it is the command's help; elsewhere it is in roff. Throws Error(kUsage) if there
// is no such command.
void show_manual_page(CLI::App& app, const std::string& command);

}  // namespace dtrain
