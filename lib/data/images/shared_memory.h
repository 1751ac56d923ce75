// Memory that all processes of this user on this host share. It has no name in any file system: it ends with
// the last process that uses it, however that ends. A file of the cache tells other processes where it is.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "images/cache_file.h"

namespace dtrain {

// The memory named `key`, a part of a file's name: that of a process that has it, or that is filling it now,
// else of this one, which calls `fill` with an empty file. This process then keeps it for others until it
// ends, or fills memory with another name. Nobody can change it then. Throws as `fill` and make_cache_file().
OpenFile shared_memory(const std::string& key, const std::function<void(const OpenFile& memory)>& fill);

// The memory that `note`, such a file of the cache, tells of; nullopt: its process has ended.
std::optional<OpenFile> find_shared_memory(const std::filesystem::path& note);

}  // namespace dtrain
