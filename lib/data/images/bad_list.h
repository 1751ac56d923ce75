// Images that cannot be read, and the list of them that is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "images/image_set.h"

namespace dtrain {

// An image of a set that cannot be read: its place in the set, and why.
struct BadImage {
  int64_t index = 0;
  std::string fault;
};
using BadImages = std::vector<BadImage>;  // in the order of the set

ImageSet without(const ImageSet& set, const BadImages& bad);

struct BadList {
  std::string root;    // of the set
  int64_t images = 0;  // in the set
  BadImages bad = {};
};

// A checksum, and the list as JSON.
std::string text_of(const BadList& list);

// nullopt: there is no such file, or it is damaged. Throws as OpenFile does.
std::optional<BadList> read_bad_list(const std::filesystem::path& path);

}  // namespace dtrain
