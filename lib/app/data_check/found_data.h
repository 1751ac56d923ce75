// Looks at a user's folder or file, and writes a job for it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dtrain {

// Data that was found, and what a first job on it says.
struct FoundData {
  std::filesystem::path place;      // the folder or file for data.path
  std::string title;                // "4,017 pictures of 5 classes: daisy (704), ..."
  std::vector<std::string> fields;  // "data.dataset=csv": everything but data.path, in the syntax of --set
  std::map<std::string, std::string> notes;  // why a field has its value, by path
  std::vector<std::string> warnings;         // what to look at

  void say(const std::string& field, const nlohmann::ordered_json& value, const std::string& note = "");
};

// Looks at a folder of pictures, a table, arrays, or the files of MNIST or CIFAR; they may be one folder
// further down, as archives unpack them. Reads headers of pictures, and all of anything else. `targets`: the
// columns of a table to predict; without them one is chosen. Throws Error(kData) that says what is wrong with
// it, or that lists what was looked for; Error(kUsage) for targets of what is no table.
FoundData look_at_data(const std::filesystem::path& path, const std::vector<std::string>& targets = {});

}  // namespace dtrain
