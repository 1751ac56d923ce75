#include "transport/http.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <new>
#include <random>
#include <thread>

#include "core/clock.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/signals.h"
#include "core/text.h"
#include "core/version.h"

namespace dtrain {
namespace {

constexpr size_t kMostErrorBytes = 4096;
constexpr size_t kMostHeaders = 200;
constexpr long kMostRedirects = 5;
constexpr long kLowSpeed = 1024;  // bytes a second

// CURLOPT_PROTOCOLS and CURLOPT_REDIR_PROTOCOLS by number: since 7.85 their names make the compiler warn, and
// what is to take their place is too new for Ubuntu 22.04.
constexpr auto kProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);
constexpr auto kRedirectProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 182);
constexpr long kHttp = 1, kHttps = 2;  // CURLPROTO_HTTP, CURLPROTO_HTTPS

constexpr unsigned kLeastVersion = 0x074200;  // 7.66, which knows Retry-After
constexpr const char* kFix = "which data at addresses needs; install libcurl4, or copy the data to this host";

// Becomes the function of this name, of any type.
struct Symbol {
  void* library;
  const char* name;

  template <class Function>
  operator Function*() const {
    auto* const function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) throw Error(ExitCode::kUsage, "libcurl has no {}, {}", name, kFix);
    return function;
  }
};

// Functions of <curl/curl.h>, without their "curl_".
struct LibCurl {
  void* library;
  decltype(&::curl_version_info) version_info = Symbol{library, "curl_version_info"};
  decltype(&::curl_global_init) global_init = Symbol{library, "curl_global_init"};
  decltype(&::curl_easy_init) easy_init = Symbol{library, "curl_easy_init"};
  decltype(&::curl_easy_cleanup) easy_cleanup = Symbol{library, "curl_easy_cleanup"};
  decltype(&::curl_easy_reset) easy_reset = Symbol{library, "curl_easy_reset"};
  decltype(&::curl_easy_setopt) easy_setopt = Symbol{library, "curl_easy_setopt"};
  decltype(&::curl_easy_perform) easy_perform = Symbol{library, "curl_easy_perform"};
  decltype(&::curl_easy_getinfo) easy_getinfo = Symbol{library, "curl_easy_getinfo"};
  decltype(&::curl_easy_strerror) easy_strerror = Symbol{library, "curl_easy_strerror"};
  decltype(&::curl_slist_append) slist_append = Symbol{library, "curl_slist_append"};
  decltype(&::curl_slist_free_all) slist_free_all = Symbol{library, "curl_slist_free_all"};
};

LibCurl load() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUsage, "there is no libcurl, {} ({})", kFix, ::dlerror());
  const LibCurl curl{library};
  const curl_version_info_data* const version = curl.version_info(CURLVERSION_NOW);
  if (version->version_num < kLeastVersion)
    throw Error(ExitCode::kUsage, "libcurl is {}, and data at addresses needs 7.66 or later",
                version->version);
  if (const CURLcode begun = curl.global_init(CURL_GLOBAL_DEFAULT); begun != CURLE_OK)
    throw Error(ExitCode::kBug, "libcurl does not start: {}", curl.easy_strerror(begun));
  return curl;
}

// libcurl, loaded when it is first used. With TLS, Kerberos and LDAP it brings some twenty libraries, so a
// job whose data is on this host starts without them, and packages leave it to the system. Throws
// Error(kUsage) if the system has no libcurl, or one before 7.66.
const LibCurl& libcurl() {
  static const LibCurl curl = load();
  return curl;
}

// `heard`: when the server was last heard, or the waiting for it began.
bool is_stopped(const HttpTimes& times, double heard) {
  const bool gives_up = stop_signals_received() > 0 && steady_seconds() - heard >= times.patience;
  return gives_up || times.stop.stop_requested();
}

void require_not_stopped(const HttpTimes& times, double heard) {
  if (is_stopped(times, heard)) throw Error(ExitCode::kStopped, "stopped while fetching data");
}

// What a transfer in libcurl's hands knows; nothing may be thrown through its C.
struct Transfer {
  const HttpTimes& times;
  const OnBytes& on_bytes;
  double heard = steady_seconds();
  HttpResponse response = {};
  bool has_enough = false;
  std::exception_ptr thrown = {};
};

size_t take_header(char* bytes, size_t, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  HttpResponse& response = transfer.response;
  transfer.heard = steady_seconds();
  const std::string line(bytes, count);
  if (line.starts_with("HTTP/")) {  // of a redirect's target, too
    response = {};
    response.status = std::atoi(line.c_str() + std::min(line.find(' '), line.size() - 1));
    response.is_http1 = line.starts_with("HTTP/1");
    return count;
  }
  const size_t colon = line.find(':');
  if (colon == std::string::npos || response.headers.size() >= kMostHeaders) return count;
  response.headers[in_lower_case(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  return count;
}

size_t take_bytes(char* bytes, size_t, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  HttpResponse& response = transfer.response;
  transfer.heard = steady_seconds();
  if (response.status < 200 || response.status > 299) {
    response.error_body.append(bytes, std::min(count, kMostErrorBytes - response.error_body.size()));
    return count;
  }
  try {
    transfer.has_enough = !transfer.on_bytes(response, bytes, count);
  } catch (...) {
    transfer.thrown = std::current_exception();
  }
  return transfer.has_enough || transfer.thrown ? count + 1 : count;  // another number ends the transfer
}

int look_for_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<const Transfer*>(user);
  return is_stopped(transfer.times, transfer.heard);
}

// Whether another attempt may do what this one could not.
bool may_work_later(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_OUT_OF_MEMORY:
      return false;
    default:
      return true;
  }
}

bool may_work_later(int64_t status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  if (libcurl().easy_setopt(handle, option, value) != CURLE_OK)
    throw Error(ExitCode::kBug, "libcurl does not know option {}", static_cast<int>(option));
}

void set_transfer(CURL* handle, const HttpRequest& request, const HttpTimes& times, Transfer& transfer) {
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_PATH_AS_IS, 1L);  // a key may have /../ in it, and it is signed so
  set(handle, kProtocols, kHttp | kHttps);
  set(handle, kRedirectProtocols, request.url.starts_with("https:") ? kHttps : kHttp | kHttps);
  set(handle, CURLOPT_FOLLOWLOCATION, request.follows_redirects ? 1L : 0L);
  set(handle, CURLOPT_MAXREDIRS, kMostRedirects);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times.connect_seconds * 1000));
  set(handle, CURLOPT_LOW_SPEED_LIMIT, kLowSpeed);
  set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(times.silent_seconds));
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_USERAGENT, (std::string("dtrain/") + kVersion).c_str());
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &look_for_stop);
  set(handle, CURLOPT_XFERINFODATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, &take_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_WRITEFUNCTION, &take_bytes);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  auto file = environment_text("CURL_CA_BUNDLE");  // the program curl reads them; the library does not
  if (!file) file = environment_text("SSL_CERT_FILE");
  if (file) set(handle, CURLOPT_CAINFO, file->c_str());
  if (const auto folder = environment_text("SSL_CERT_DIR")) set(handle, CURLOPT_CAPATH, folder->c_str());
}

}  // namespace

// libcurl keeps the connections of a handle for its next request.
struct HttpClient::Handles {
  std::mutex mutex;
  std::vector<CURL*> idle;

  CURL* take() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        CURL* const handle = idle.back();
        idle.pop_back();
        return handle;
      }
    }
    CURL* const handle = libcurl().easy_init();
    if (handle == nullptr) throw std::bad_alloc();
    return handle;
  }
  void give_back(CURL* handle) {
    libcurl().easy_reset(handle);
    const std::lock_guard lock(mutex);
    idle.push_back(handle);
  }
};

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(const HttpTimes& times) : times_(times), handles_(std::make_unique<Handles>()) {
  libcurl();  // fails here if it is missing
}

HttpClient::~HttpClient() {
  for (CURL* const handle : handles_->idle) libcurl().easy_cleanup(handle);
}

HttpResponse HttpClient::get(const HttpRequest& request, const OnBytes& on_bytes) {
  Transfer transfer{.times = times_, .on_bytes = on_bytes};
  require_not_stopped(times_, transfer.heard);
  const std::unique_ptr<CURL, std::function<void(CURL*)>> handle(
      handles_->take(), [this](CURL* one) { handles_->give_back(one); });
  set_transfer(handle.get(), request, times_, transfer);
  std::unique_ptr<curl_slist, decltype(libcurl().slist_free_all)> lines(nullptr, libcurl().slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* const longer = libcurl().slist_append(lines.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(lines.release());
    lines.reset(longer);
  };
  add("accept-encoding: identity");
  for (const auto& [name, value] : request.headers) add(name + ": " + value);
  set(handle.get(), CURLOPT_HTTPHEADER, lines.get());

  const CURLcode code = libcurl().easy_perform(handle.get());
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  require_not_stopped(times_, transfer.heard);
  HttpResponse& response = transfer.response;
  if (code != CURLE_OK && !transfer.has_enough) {
    response.fault = libcurl().easy_strerror(code);  // which has nothing of the address in it
    response.may_work_later = may_work_later(code);
  } else {
    response.may_work_later = may_work_later(response.status);
  }
  curl_off_t asked = 0;
  if (libcurl().easy_getinfo(handle.get(), CURLINFO_RETRY_AFTER, &asked) == CURLE_OK)
    response.asked_wait = static_cast<double>(asked);
  return response;
}

void wait_before_attempt(const HttpTimes& times, int attempt, double asked_wait) {
  static thread_local std::minstd_rand random(std::random_device{}());
  const double part = std::uniform_real_distribution<>(0.5, 1.0)(random);
  const double seconds = std::max(
      asked_wait, std::min(times.longest_wait, part * times.first_wait * std::ldexp(1.0, attempt - 1)));
  const double begin = steady_seconds();
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
    require_not_stopped(times, begin);
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(
        std::chrono::milliseconds(100), until - std::chrono::steady_clock::now()));
  }
}

}  // namespace dtrain
