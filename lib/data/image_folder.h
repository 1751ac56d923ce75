// People's own pictures: a folder for each class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace dtrain {

// Whether the name of a file is that of a picture by its extension: *.jpg, *.jpeg, *.png, *.webp, *.ppm,
// *.pgm.
bool is_picture_name(const std::string& name);

// Whether a file or folder of that name is never looked at: hidden ones, and what archives of macOS add.
bool is_left_out(const std::string& name);

struct FolderImage {
  std::string path;  // below the folder: "train/rose/1.jpg"
  int64_t label = 0;
};

// The pictures of a folder with a folder for each class, or with
// such a folder in each of train/, test/ and validation/. The parts are indices of `images`, in an order that
// mixes the classes. data.split.seed and the paths below the folder alone decide the order, and which picture
// belongs to which part, where data.split asks for one: a new picture moves no other one.
struct ImageFolder {
  std::filesystem::path root;
  std::vector<std::string> classes;  // ascending
  std::vector<FolderImage> images;   // by class and name
  std::vector<int64_t> train, validation, test;
};

// Lists the folder, and divides it as spec.split, spec.train_examples and spec.test_examples ask. Reads no
// picture. Throws Error(kData) that names the file or folder: it cannot be read, its name is not UTF-8, a
// class without pictures, a folder inside of a class, classes that are not the same in each part or not
// spec.class_names. Throws FieldError for a part that would be empty, or that the folder and the spec both
// give.
ImageFolder list_image_folder(const std::filesystem::path& folder, const DataSpec& spec);

// What is known of the folder, with everything that the spec asks for. Returns nullopt if there is no such
// folder.
std::optional<DatasetInfo> find_image_folder(const std::filesystem::path& folder, const DataSpec& spec);

// Opens the folder info.source. Its pictures are in the cache (images/image_cache.h), where they are put now
// if they are not, or with spec.cache none decoded when they are needed.
Dataset load_image_folder(const DatasetInfo& info, const DataSpec& spec);

// Puts the pictures into the cache if they are not there, unless spec.cache is none.
void prepare_image_folder(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress);

// The bytes of the folder's file in the cache: of all its pictures, or if it is not there, of those of
// `info`.
int64_t image_folder_cache_bytes(const DatasetInfo& info, const DataSpec& spec);

}  // namespace dtrain
