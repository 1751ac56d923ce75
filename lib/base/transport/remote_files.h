// Files at addresses: finding them, reading them whatever the network does meanwhile, and the names that
// copies of them have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/http.h"
#include "transport/store.h"

namespace dtrain {

struct RemoteFile {
  std::string address;      // one file's, without braces
  std::string name;         // for its copy: the path below what the address of all names, with - for /
  int64_t bytes = -1;       // -1: the server does not say
  std::string version;      // ETag, else the time of its last change; empty: the server says neither
  bool has_ranges = false;  // parts of it can be asked for

  std::string shown() const;  // the address for messages
};

// The path of an address, whose last part names the file; of a store the key.
std::string path_of_address(const std::string& address);

// How many bytes of their paths all files have in common, in whole folders.
size_t common_folder(const std::vector<RemoteFile>& files);

// Names files by their paths after the first `below` bytes. Throws Error(kData) for what cannot be a name
// here, and if two files would have the same.
void name_files(const std::string& address, size_t below, std::vector<RemoteFile>& files);

// By the file's name, for those of a whole folder of a store.
using IsWanted = std::function<bool(const std::string& name)>;

// Any number of threads may read at once. The functions throw errors that name the address but contain no
// secret: Error(kData) if a file is not there or has changed, Error(kUsage) without access, Error(kDisk) if
// several attempts did not reach a server or failed there (a later one may work), Error(kStopped) after a
// stop signal.
class RemoteFiles {
 public:
  explicit RemoteFiles(const HttpTimes& times = {}) : client_(times) {}

  // The files at an address, with its braces expanded; s3://bucket/prefix/ stands for all wanted objects that
  // begin with it. Reads none of them. Throws also if there is none, or if two would have the same name.
  std::vector<RemoteFile> find(const std::string& address, const IsWanted& is_wanted);

  // Reads bytes [begin, end) of a file that find() has found; `end` -1: to its end. `write` gets them, at
  // their places; some may come twice. Returns where they end.
  using Write = std::function<void(int64_t offset, const char* bytes, size_t count)>;
  int64_t read(const RemoteFile& file, int64_t begin, int64_t end, const Write& write);

 private:
  class Reading;
  HttpRequest request_for(const std::string& address, const std::map<std::string, std::string>& headers);
  std::shared_ptr<const StoreSettings> settings();
  // Whether other keys than those that a store refused are there now; settings() has them then.
  bool has_other_keys(const StoreSettings& refused);
  // Tries again until an attempt works. `attempt` returns the response, and whether there was progress.
  HttpResponse insist(const std::string& address,
                      const std::function<HttpResponse(bool& got_further)>& attempt);
  [[noreturn]] void refuse(const std::string& address, const HttpResponse& response);
  std::string access_advice(const std::string& address, const std::string& code);
  RemoteFile look_at(const std::string& address);
  std::vector<RemoteFile> list(const std::string& address, const IsWanted& is_wanted);

  HttpClient client_;
  std::mutex mutex_;  // guards settings_
  std::shared_ptr<const StoreSettings> settings_;
};

}  // namespace dtrain
