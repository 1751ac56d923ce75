// The libraries that the program loads while it runs, because most jobs do not need them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dtrain {

struct ModuleLibrary {
  std::string name;         // "cuda": libdtrain_cuda.so has its version as the text dtrain_cuda_version
  const char* variable;     // the environment variable that says where it is
  const char* purpose;      // "CUDA", for messages
  const char* entry;        // the name of the function by which it is used
  const char* if_missing;   // what to do then
  const char* if_it_fails;  // what may be wrong when it does not load

  // Where `variable` says, else beside the program or in ../lib/dtrain. nullopt if it is nowhere.
  std::optional<std::filesystem::path> find() const;

  // Loads it, for as long as the process lives, and returns its entry. Throws Error(kUsage) with what to do
  // if it is missing, does not load or is of another version than `expected`.
  void* load(const std::string& expected) const;
};

}  // namespace dtrain
