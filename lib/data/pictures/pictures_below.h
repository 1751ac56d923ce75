// The pictures in a folder and in those below it, whatever the folders mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pictures/picture_list.h"

namespace dtrain {

struct PicturesBelow {
  std::vector<std::string> files;  // by name, each with the folder's path before it
  EndingCounts left_out;           // other files
};

// Hidden files and folders are not looked at, links are followed. Throws Error(kData) that names the folder:
// for one that cannot be read, or has no pictures.
PicturesBelow pictures_below(const std::filesystem::path& folder);

}  // namespace dtrain
