// Pictures in tar archives as WebDataset names them (https://github.com/webdataset/webdataset): the files of
// an example have one key, the name up to its first dot, and follow each other: KEY.jpg and KEY.cls.
#pragma once

#include <filesystem>
#include <string>

#include "pictures/picture_list.h"

namespace dtrain {

// Whether the name of a file is that of an archive: .tar, or one that is packed (.tar.gz, .tgz, .tar.zst,
// ...).
bool is_archive_name(const std::string& name);

// Lists the archives at `place`, for divided(): one archive, or those of a folder, by name. The names say
// which part an archive belongs to: "train", "test", and "val" or "validation" between dots, hyphens and
// underscores; others are for training. A .cls file has the class, a number from 0 or a word; numbers can get
// names by spec.class_names. Other files of an example tell about it; those of examples without a picture are
// counted as left out.
//
// A picture is read where it lies; names of members are names only. An archive that is packed is unpacked
// once, to plain tar (packed_archive.h). Throws Error(kData) that names the archive and the member: damaged,
// a picture without a class or a second one of the same key, links and sparse files, a number of classes over
// the limits. Throws FieldError as list_image_folder() does.
PictureList list_archives(const std::filesystem::path& place, const DataSpec& spec);

}  // namespace dtrain
