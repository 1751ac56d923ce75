// People's own pictures: a folder for each class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pictures/picture_list.h"

namespace dtrain {

// Lists the pictures of a folder with a folder for each class, or with such a folder in each of train/, test/
// and validation/, by class and name, for divided(). Throws Error(kData) that names the file or folder: the
// folder cannot be read, its name is not UTF-8, a class without pictures, a folder inside of a class, classes
// that are not the same in each part or not spec.class_names. Throws FieldError for a part that the folder
// and the spec both give. Whether a picture can be read is not looked at: it may be a link to nowhere.
PictureList list_image_folder(const std::filesystem::path& folder, const DataSpec& spec);

// The pictures in a folder and in those below it, whatever the folders mean.
struct PicturesBelow {
  std::vector<std::string> files;  // by name, each with the folder's path before it
  EndingCounts left_out;           // other files
};

// Hidden files and folders are not looked at, links are followed. Throws Error(kData) that names the folder:
// for one that cannot be read, or has no pictures.
PicturesBelow pictures_below(const std::filesystem::path& folder);

}  // namespace dtrain
