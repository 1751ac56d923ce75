// A file to which a callback adds text as the run goes on.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "core/descriptor.h"

namespace dtrain {

class LinesFile {
 public:
  // Text already in the file stays until empty(). `what` names it in errors. All throw Error(kUsage, kDisk).
  LinesFile(const std::filesystem::path& path, std::string what);

  void empty() { cut_to(0); }
  void write(const std::string& text);
  // For checkpoints: the size; 0: nothing was written yet.
  off_t bytes() const { return bytes_; }
  // Goes back to that size. A shorter file is a new one, in another folder, and stays as it is.
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
