// People's own pictures as a dataset: image_folder, tar and image_parquet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "pictures/picture_list.h"

namespace dtrain {

// The description of the pictures at `place`, with everything that the spec asks for. Reads no picture: with
// spec.on_bad_example skip, it omits only the bad pictures that are already known. Returns nullopt if there
// is no such folder (or file, but for an image_folder). Throws as list_image_folder(), list_archives() and
// divided() do.
std::optional<DatasetInfo> find_image_folder(const std::filesystem::path& place, const DataSpec& spec);
std::optional<DatasetInfo> find_archives(const std::filesystem::path& place, const DataSpec& spec);

// Lists and divides the pictures at info.source, which find_dataset() has found. With spec.on_bad_example
// skip without those that cannot be read, for which all are read now if they were not before. Throws
// Error(kData) if they are more than spec.bad_examples_allowed.
PictureList list_pictures(const DatasetInfo& info, const DataSpec& spec);

// Opens the pictures at info.source, without those that list_pictures() leaves out. They are in the cache
// (images/image_cache.h), where they are put now if they are not, or with spec.cache none decoded when they
// are needed.
Dataset load_pictures(const DatasetInfo& info, const DataSpec& spec);

// Puts the pictures into the cache if they are not there, unless spec.cache is none, and with
// spec.on_bad_example skip finds those that cannot be read, as list_pictures() does.
void prepare_pictures(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress);

// Whether their file is allowed in the cache and fits on the disk, or is there already.
bool can_cache_pictures(const DatasetInfo& info, const DataSpec& spec);

// The bytes of their file in the cache: of all pictures at info.source; of those of `info` if that is empty.
int64_t picture_cache_bytes(const DatasetInfo& info, const DataSpec& spec);

}  // namespace dtrain
