// A private folder for files that are only needed if something fails.
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

class ScratchFolder {
 public:
  // Makes the folder PREFIX-XXXXXX where temporary files go ($TMPDIR, else /tmp), for this user alone. Throws
  // Error(kUsage, kDisk) if it cannot.
  explicit ScratchFolder(const std::string& prefix);
  // Removes the folder with what is in it, unless keep() was called.
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  void keep() { kept_ = true; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace dtrain
