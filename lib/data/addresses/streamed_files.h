// Files at addresses that are not copied: parts of them are read when they are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "images/archive_bytes.h"
#include "transport/remote_files.h"

namespace dtrain {

struct FilePart {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t checksum = 0;  // checksum_number()
};

// A file whose parts to read are all known in advance.
struct StreamedFile {
  std::string address;
  int64_t bytes = 0;
  std::string content;          // a checksum of it
  std::vector<FilePart> parts;  // ascending
};

// The parts of these files. Each is fetched only when it is read or expected. Expected parts are fetched in
// the order of the calls, by 32 threads of this process for all files together, until 128 MiB of them wait to
// be read; read() itself fetches the rest. It throws as RemoteFiles does, and Error(kData) for a part that
// has other bytes, or is none of the parts.
std::vector<std::shared_ptr<const ArchiveBytes>> stream_files(std::vector<StreamedFile> files,
                                                              const HttpTimes& times = {});

}  // namespace dtrain
