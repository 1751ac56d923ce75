// The folder of copies: what is in it, which of it is in use, and what has to go.
//
//   addresses/KEY           the bytes of a file; KEY is of its address, version and size
//   addresses/KEY.about     JSON: address, bytes, checksum; its time of change is that of the last use
//   addresses/sets/SET      a folder with links to copies, by the names of the files
//   addresses/sets/SET.use  JSON: the keys of its copies; whoever uses them has a shared lock on it
//   addresses/lock          held while any of this is added to or removed
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

struct AboutCopy {
  std::string address;  // for messages
  int64_t bytes = 0;
  std::string checksum;  // of the bytes
};

std::filesystem::path copies_folder();
std::filesystem::path path_of_copy(const std::string& key);

// nullopt: there is no whole copy. Counts as a use.
std::optional<AboutCopy> find_copy(const std::string& key);
void write_about_copy(const std::string& key, const AboutCopy& about);

// Makes copies, there or not yet, count as used until the descriptor is closed. Throws as fail_on_cache().
Descriptor use_copies(const std::string& set, const std::vector<std::string>& keys);

// The same for a set that is in use already; empty if it is not there.
Descriptor use_set(const std::string& set);

std::filesystem::path path_of_set(const std::string& set);

// Makes the folder of a set: links to copies, by their names.
void link_set(const std::string& set, const std::map<std::string, std::string>& key_by_name);

// A copy in the folder, whole or not.
struct FetchedCopy {
  std::filesystem::path file;
  int64_t bytes = 0;
  std::string address;  // empty: unfinished
  bool in_use = false;  // by a process that runs
};

// All copies, the least recently used first.
std::vector<FetchedCopy> list_fetched();

// Removes a copy; false: it is in use and stays.
bool remove_fetched(const FetchedCopy& copy);

// Removes copies that nobody uses, the least recently used first, until `bytes` more fit into `most_bytes`
// and on the disk, or none is left to remove.
void make_room_for(int64_t bytes, double most_bytes);

}  // namespace dtrain
