// Tar archives that are packed, such as .tar.gz: to read a member, everything before it must be unpacked.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "images/checked_file.h"

namespace dtrain {

// The name of the archive when it is not packed: "a.tar" for "a.tar.gz" and "a.tgz"; other names stay.
std::string unpacked_name(const std::string& name);

// Whether the bytes of the file are packed, whatever its name: by gzip, bzip2, xz, zstd or lz4. Throws
// Error(kData) that names the file if it cannot be read.
bool is_packed(const std::filesystem::path& archive);

// A packed archive as plain tar in the cache (images/checked_file.h), where it is unpacked now if it is not
// there: for files of this name, size and times of change once. Throws Error(kData) that names a damaged
// archive, or one that unpacks to so many times its size that it has no pictures, and Error(kUsage) if it
// unpacks to more than `most_gigabytes` (data.cache_gigabytes).
std::shared_ptr<const CheckedFile> unpacked_archive(const std::filesystem::path& archive,
                                                    double most_gigabytes);

}  // namespace dtrain
