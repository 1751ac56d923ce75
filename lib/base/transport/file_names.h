// The names that copies of files at addresses have.
#pragma once

#include <string>
#include <vector>

#include "transport/remote_files.h"

namespace dtrain {

bool is_in_store(const std::string& address);

// The path of an address, whose last part names the file; of a store the key.
std::string path_of_address(const std::string& address);

// How many bytes of their paths all files have in common, in whole folders.
size_t common_folder(const std::vector<RemoteFile>& files);

// Names files by their paths after the first `below` bytes. Throws Error(kData) for what cannot be a name
// here, and if two files would have the same.
void name_files(const std::string& address, size_t below, std::vector<RemoteFile>& files);

}  // namespace dtrain
