// Pictures in Parquet files, as Hugging Face's datasets write them: a column with the bytes of an encoded
// picture in each row, or a struct {bytes, path} of them, and a column with its class.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "spec/spec.h"

namespace dtrain {

inline constexpr const char* kImageParquet = "image_parquet";  // data.dataset

// Writes the pictures of one file as a tar archive of dtrain's own, in the order of the rows:
// row-00000001.png and row-00000001.cls, ...; before them, if the file's metadata names the classes, a member
// kShardsNote. The class is in the column spec.target, or else the one that the metadata, its name or its
// being the only one makes out; columns of spec.ignore are not looked at. Whether a picture can be decoded is
// not looked at. Throws what `write` does, Error(kUsage) without the module for Parquet, FieldError for
// columns that the spec names wrongly or that it has to name, and Error(kData) that names the file and the
// row, from 1: it is damaged, a picture or a class is missing, a class is none that the metadata names.
void write_pictures_as_tar(const std::filesystem::path& path, const DataSpec& spec,
                           const std::function<void(std::string_view bytes)>& write);

// Whether a Parquet file says that it has pictures. Throws as ParquetTable does.
bool has_picture_column(const std::filesystem::path& path);

}  // namespace dtrain
