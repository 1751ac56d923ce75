// What an ordinary user may not do, also where root runs the tests.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"

namespace dtrain {

// While it lives, this process is no root, who may read, write and remove anything. Everybody may use
// `folder`.
class OrdinaryUser {
 public:
  explicit OrdinaryUser(const std::filesystem::path& folder) {
    std::filesystem::permissions(folder, std::filesystem::perms::all);
    changed_ = ::geteuid() == 0 && ::seteuid(65534) == 0;
    exists_ = ::geteuid() != 0 && ::eaccess(folder.c_str(), W_OK | X_OK) == 0;
    if (!exists_) WARN("not checked: there is no ordinary user who can write there");
  }
  ~OrdinaryUser() {
    if (!changed_) return;
    CHECK(::seteuid(0) == 0);
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // which a change of user ends
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

  bool exists() const { return exists_; }

 private:
  bool changed_ = false;
  bool exists_ = false;
};

}  // namespace dtrain
