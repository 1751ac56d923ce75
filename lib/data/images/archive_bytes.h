// The bytes of an archive that is not a plain file of this host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace dtrain {

// Any number of threads may use one at once.
class ArchiveBytes {
 public:
  virtual ~ArchiveBytes() = default;

  // Throws Error if they cannot be read, or are not those that the archive had before.
  virtual std::string read(int64_t offset, int64_t bytes) const = 0;

  // Of an archive elsewhere: a checksum of it. Empty: it is here, and reading is quick.
  virtual std::string content() const { return {}; }
  // Has another thread fetch what read() will be asked for while the result lives. `counts`: for a reading of
  // its own, so that what others read before is kept for it.
  virtual std::shared_ptr<const void> expect(int64_t /*offset*/, int64_t /*bytes*/, bool /*counts*/) const {
    return {};
  }
};

}  // namespace dtrain
