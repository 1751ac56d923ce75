// Looks at a user's folder or file, and writes a job for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

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

// Each kind of data that look_at_data() knows; nullopt: another kind. Throws Error(kData) if it is unusable.
std::optional<FoundData> find_pictures(const std::filesystem::path& place);
// `wanted`: the targets, as look_at_data() has them.
std::optional<FoundData> find_table(const std::filesystem::path& place,
                                    const std::vector<std::string>& wanted);
std::optional<FoundData> find_arrays(const std::filesystem::path& place);
std::optional<FoundData> find_idx_files(const std::filesystem::path& place);
std::optional<FoundData> find_cifar_files(const std::filesystem::path& place);

// The fields model, batch and train for examples of this kind: small, and trained in minutes on some cores.
void choose_model(FoundData& found, const DatasetInfo& data);

// "daisy (704), rose (724)", or of many classes "from 12 (rare) to 900 (common)"; numbers without names.
std::string class_counts_text(const std::vector<std::string>& names, const std::vector<int64_t>& counts);

// Says how to weigh classes, if some have many times the examples of others.
void note_imbalance(FoundData& found, const std::vector<int64_t>& counts);

// How many examples of a source there are of each class.
std::vector<int64_t> count_classes(const ExampleSource& source, int64_t classes);

inline constexpr double kFirstTestPart = 0.2;
inline constexpr const char* kTestPartNote =
    "this part of the examples is kept apart, to measure the model with what it has not seen";

}  // namespace dtrain
