// Each kind of data that look_at_data() knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data_check/found_data.h"

namespace dtrain {

// Each returns nullopt if `place` is not that kind, and throws Error(kData) if it is, but cannot be used.
std::optional<FoundData> find_pictures(const std::filesystem::path& place);
// `wanted`: the targets, as look_at_data() has them.
std::optional<FoundData> find_table(const std::filesystem::path& place,
                                    const std::vector<std::string>& wanted);
std::optional<FoundData> find_arrays(const std::filesystem::path& place);
std::optional<FoundData> find_idx_files(const std::filesystem::path& place);
std::optional<FoundData> find_cifar_files(const std::filesystem::path& place);

// The fields model, batch and train for examples of this kind: small, and trained in minutes on some cores.
void choose_model(FoundData& found, const DatasetInfo& data);

// "daisy (704), rose (724)", or of many classes "from 12 (rare) to 900 (common)". Names may be empty: then
// classes have numbers.
std::string class_counts_text(const std::vector<std::string>& names, const std::vector<int64_t>& counts);

// Says how to weigh classes, if some have many times the examples of others.
void note_imbalance(FoundData& found, const std::vector<int64_t>& counts);

// How many examples of a source there are of each class.
std::vector<int64_t> count_classes(const ExampleSource& source, int64_t classes);

inline constexpr double kFirstTestPart = 0.2;
inline constexpr const char* kTestPartNote =
    "this part of the examples is kept apart, to measure the model with what it has not seen";

}  // namespace dtrain
