// A file to which a callback adds text as the run goes on.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "core/descriptor.h"

namespace dtrain {

class LinesFile {
 public:
  // What is there stays until empty(). `what` is its name in errors. All throw Error(kUsage, kDisk).
  LinesFile(const std::filesystem::path& path, std::string what);

  void empty() { cut_to(0); }
  void write(const std::string& text);
  // For checkpoints: the size; 0: nothing was written yet.
  off_t bytes() const { return bytes_; }
  // Removes what was added later than that. If the file is shorter, it is a new one, in another folder.
  void go_back_to(off_t bytes);

 private:
  void cut_to(off_t bytes);
  [[noreturn]] void refuse(const char* verb) const;

  std::filesystem::path path_;
  std::string what_;
  Descriptor file_;
  off_t bytes_ = 0;
};

}  // namespace dtrain
