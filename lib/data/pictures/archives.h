// Pictures in tar archives as WebDataset names them (https://github.com/webdataset/webdataset): the files of
// an example have one key, the name up to its first dot, and follow each other: KEY.jpg and KEY.cls. A
// Parquet file with pictures is an archive that is packed in another way (parquet_pictures.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "images/checked_file.h"
#include "pictures/picture_list.h"

namespace dtrain {

// Bytes: headers and files take whole blocks, and two blocks of zeros end an archive.
constexpr int64_t kTarBlock = 512;

// Whether the name of a file is that of an archive: .tar, or a packed one (.tar.gz, .tgz, .tar.zst, ...).
bool is_archive_name(const std::string& name);

// Lists the archives at `place`, for divided(): one archive, or those of a folder, by name: with spec.dataset
// image_parquet .parquet files, else tar archives. The names say which part an archive belongs to: "train",
// "test", and "val" or "validation" between dots, hyphens and underscores, in any case; others are for
// training, but "valid", "dev" and "eval" beside them are refused. If there is a folder train/, the archives
// are in it, and those of the other parts in test/ and validation/. A .cls file has the class, a number from
// 0 or a word; numbers can get names by spec.class_names, or by a note (shards.h), with which the pictures
// also keep their order. Other files of an example tell about it; those of examples without a picture are
// counted as left out.
//
// A picture is read where it lies; names of members are names only. An archive that is packed is unpacked
// once, to plain tar (packed_archive.cpp). With spec.stream `place` is an address, of which only the index is
// read (shard_index.h): the list is that of copies. Throws Error(kData) that names the archive and the
// member: damaged, a picture without a class or a second one of the same key, links and sparse files, a
// number of classes over the limits. Throws FieldError as list_image_folder() does.
PictureList list_archives(const std::filesystem::path& place, const DataSpec& spec);

// Writes shards.index beside the archives of a folder, for list_archives() of their address with spec.stream.
// Reads all of them twice. Throws as list_archives() does, Error(kData) for an archive that is packed, and
// Error(kStopped) after a stop signal.
void index_archives(const std::filesystem::path& folder);

// The name of the archive when it is not packed: "a.tar" for "a.tar.gz" and "a.tgz"; other names stay.
std::string unpacked_name(const std::string& name);

// Whether the bytes of the file are packed, whatever its name: by gzip, bzip2, xz, zstd or lz4. Throws
// Error(kData) that names the file if it cannot be read.
bool is_packed(const std::filesystem::path& archive);

// A packed archive, or a Parquet file, as plain tar in the cache (images/checked_file.h), where it is
// unpacked now if it is not there: for files of this name, size and times of change once. Throws Error(kData)
// that names a damaged archive, or one that unpacks to so many times its size that it has no pictures, and
// Error(kUsage) if it unpacks to more than data.cache_gigabytes, with the `before` bytes of other archives.
std::shared_ptr<const CheckedFile> unpacked_archive(const std::filesystem::path& archive,
                                                    const DataSpec& spec, int64_t before);

}  // namespace dtrain
