// libcurl, loaded when it is first used. With TLS, Kerberos and LDAP it brings some twenty libraries, so a
// job whose data is on this host starts without them, and packages leave it to the system.
#pragma once

#include <curl/curl.h>

namespace dtrain {

// Functions of <curl/curl.h>, without their "curl_".
struct LibCurl {
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_reset) easy_reset = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
};

// Throws Error(kUsage) if the system has no libcurl, or one before 7.66.
const LibCurl& libcurl();

}  // namespace dtrain
