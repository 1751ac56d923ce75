// Lists the user's pictures, with their classes and their parts of the data. Does not open the pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "images/image_set.h"
#include "spec/spec.h"

namespace dtrain {

inline constexpr size_t kMostPictureClasses = 10'000;  // data.class_names has no room for more

struct ListedPicture {
  ImageFile file;  // below the list's root
  int64_t label = 0;
};

// How many files there are of each ending, in lower case: ".heic".
using EndingCounts = std::map<std::string, int64_t>;

// The parts are indices of `pictures`, after divided() in an order that mixes the classes. data.split.seed
// and the pictures' names alone decide the order and, where data.split asks for a part, which picture belongs
// to it. So a new picture moves no other one, except with data.split.stratify or group.
struct PictureList {
  std::filesystem::path root;
  std::vector<std::string> classes;  // ascending
  std::vector<ListedPicture> pictures = {};
  std::vector<int64_t> train = {}, validation = {}, test = {};
  bool is_mixed = false;  // dtrain data pack has mixed the pictures: the parts keep their order
  EndingCounts left_out;  // files that are no pictures that can be read, and tell about none
};

// ".jpg, .jpeg, .png, ..."
std::string picture_endings();

// Whether the name of a file is that of a picture: one of image_endings() in any case.
bool is_picture_name(const std::string& name);

// In lower case, with its dot: ".jpg".
std::string ending_of(const std::string& name);

// Whether it is UTF-8 without control characters, and not empty.
bool is_plain_text(const std::string& text);

// Adds a file of that name.
void count_ending(const std::string& name, EndingCounts& counts);

// "3 .heic, 1 without an ending"
std::string endings_text(const EndingCounts& counts);

// "4 files are left out: 3 .heic, 1 .psd; dtrain reads .jpg, ..."
std::string left_out_text(const EndingCounts& left_out);

// Throws Error(kData) if more files are left out than there are pictures.
void require_mostly_pictures(const PictureList& all);

// Whether a file or folder of that name is never looked at: hidden ones, and what archives of macOS add.
bool is_left_out(const std::string& name);

// The fields that ask for a part. A part that `folder` has is not drawn too: throws FieldError.
inline constexpr const char* kTestField = "data.split.test";
inline constexpr const char* kValidationField = "data.split.validation";
inline constexpr const char* kFoldsField = "data.split.folds";
inline constexpr const char* kTooManyFolds =
    "is more than there are training examples, or groups of data.split.group; use fewer folds";
void refuse_both(const std::filesystem::path& folder, const char* field, bool is_drawn);

// The first `count` of `order`, fewer than all: whole groups, or as many of each class as fall to it
// (core/random.h). `numbers`: of every index its group or class. Throws FieldError if that cannot be done
// with what `noun` names ("picture").
std::vector<int64_t> first_of_part(const std::vector<int64_t>& order, const std::vector<int64_t>& numbers,
                                   bool are_groups, int64_t count, const char* noun);

// Leaves out the pictures `bad`, places in all.pictures. Throws Error(kData) if a part lacks a class then.
PictureList without(const PictureList& all, const BadImages& bad);

// Completes a list whose `train` has all pictures that belong to no other part: draws the parts that
// spec.split asks for, mixes each, and keeps as many as spec.train_examples and spec.test_examples say.
// Throws FieldError for a part that would be empty, or too small for such a limit or data.split.stratify, and
// Error(kData) for a picture in whose name data.split.group finds no group.
PictureList divided(PictureList all, const DataSpec& spec);

// Throws Error(kData) for too many classes, or others than spec.class_names, and FieldError for another
// number of classes than spec.classes.
void check_picture_classes(const PictureList& all, const DataSpec& spec);

}  // namespace dtrain
