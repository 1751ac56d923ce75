// The libraries that the program loads while it runs, because most jobs do without them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain {

struct ModuleLibrary {
  const char* variable;     // the environment variable that says where it is
  const char* file;         // its name, beside the program or in ../lib/dtrain
  const char* purpose;      // "CUDA", for messages
  const char* version_of;   // the name of its text with the version that it was built with
  const char* entry;        // the name of the function by which it is used
  std::string if_missing;   // what to do then
  std::string if_it_fails;  // what may be wrong when it does not load

  // nullopt if it is nowhere.
  std::optional<std::filesystem::path> find() const;

  // Loads it, for as long as the process lives, and returns its entry. Throws Error(kUsage) with what to do
  // if it is missing, does not load or is of another version than `expected`.
  void* load(const std::string& expected) const;
};

}  // namespace dtrain
