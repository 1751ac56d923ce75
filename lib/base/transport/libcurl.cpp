#include "transport/libcurl.h"

#include <dlfcn.h>

#include "core/error.h"

namespace dtrain {
namespace {

constexpr unsigned kLeastVersion = 0x074200;  // 7.66, which knows Retry-After
constexpr const char* kFix = "which data at addresses needs; install libcurl4, or copy the data to this host";

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw Error(ExitCode::kUsage, "libcurl has no {}, {}", name, kFix);
}

LibCurl load() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUsage, "there is no libcurl, {} ({})", kFix, ::dlerror());
  decltype(&::curl_version_info) version_info = nullptr;
  decltype(&::curl_global_init) global_init = nullptr;
  LibCurl curl;
  find(library, "curl_version_info", version_info);
  find(library, "curl_global_init", global_init);
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_reset", curl.easy_reset);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_perform", curl.easy_perform);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);
  const curl_version_info_data* const version = version_info(CURLVERSION_NOW);
  if (version->version_num < kLeastVersion)
    throw Error(ExitCode::kUsage, "libcurl is {}, and data at addresses needs 7.66 or later",
                version->version);
  if (const CURLcode begun = global_init(CURL_GLOBAL_DEFAULT); begun != CURLE_OK)
    throw Error(ExitCode::kBug, "libcurl does not start: {}", curl.easy_strerror(begun));
  return curl;
}

}  // namespace

const LibCurl& libcurl() {
  static const LibCurl curl = load();
  return curl;
}

}  // namespace dtrain
