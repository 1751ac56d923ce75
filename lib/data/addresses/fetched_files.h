// Copies of files at addresses in this user's cache: fetched once a host, bounded, kept while jobs use them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "transport/remote_files.h"

namespace dtrain {

// What an address names, on this host.
struct FetchedFiles {
  std::filesystem::path place;  // the file, or for {..} and s3://bucket/prefix/ a folder with the files
  std::string content;          // a checksum of their names and bytes, the same wherever they are
  std::map<std::string, std::string> addresses = {};  // of each, by its name; empty in use_fetched()
};

// FetchedFiles::content of files with these checksums, by name.
std::string content_of_files(const std::map<std::string, std::string>& checksums);

// Asks for the files at an address, and fetches those that are not here. Later calls for it in this process
// return the same without asking again. The files stay until the process ends; those that no process uses
// make room for others, the least recently used first. Whatever copies throw from now on in messages names
// addresses, not copies. Throws as RemoteFiles does, Error(kUsage) that names data.cache_gigabytes if the
// files take more than that, Error(kDisk) if the disk is too small.
FetchedFiles fetch_files(const std::string& address, double most_gigabytes, const IsWanted& is_wanted,
                         const HttpTimes& times = {});

// From now on, fetching shows nothing on standard error.
void fetch_quietly();

// The files that another process of this job has fetched and uses: fetch_files() in this one then asks no
// server. Does nothing if they are not there.
void use_fetched(const std::string& address, const FetchedFiles& files);

}  // namespace dtrain
