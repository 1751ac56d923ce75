// HTTP by libcurl: one request at a time from each thread, over connections that are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace dtrain {

struct HttpTimes {
  double connect_seconds = 15;
  int64_t silent_seconds = 30;  // a transfer that is slower than 1 KiB/s for so long is given up
  double first_wait = 0.5;      // before the second attempt, in seconds; then twice as long each
  double longest_wait = 60;     // that a server may ask for
  int attempts = 6;             // without a byte of progress
  std::stop_token stop = {};    // ends transfers and waits as a stop signal does, within a second or so
  double patience = 0;          // seconds of silence for which transfers go on after a stop signal
};

struct HttpRequest {
  std::string url;
  std::map<std::string, std::string> headers = {};
  bool follows_redirects = true;  // never from https to http
};

struct HttpResponse {
  int64_t status = 0;                               // 0: there was none
  std::map<std::string, std::string> headers = {};  // by lower-case name, of the last response
  bool is_http1 = false;                            // which may end a body by closing the connection
  std::string error_body = {};  // the beginning of what came with a status of 300 and above
  std::string fault = {};       // why it did not come whole; empty: it did, or the reader wanted no more
  bool may_work_later = false;  // of a fault or a status
  double asked_wait = 0;        // seconds that the server asks to wait (Retry-After)

  std::string header(const std::string& name) const;  // empty: there is none
  bool is_whole() const { return fault.empty() && status >= 200 && status < 300; }
};

// Gets the bytes of a response with a status from 200 to 299, as they come. Returns false to have no more.
using OnBytes = std::function<bool(const HttpResponse& head, const char* bytes, size_t count)>;

class HttpClient {
 public:
  // Proxies are those of the environment (https_proxy, no_proxy). Servers are verified with the certificates
  // of CURL_CA_BUNDLE, SSL_CERT_FILE or SSL_CERT_DIR, else of the system.
  explicit HttpClient(const HttpTimes& times);
  ~HttpClient();

  // One attempt. What `on_bytes` throws is thrown here. Throws Error(kStopped) when stopped.
  HttpResponse get(const HttpRequest& request, const OnBytes& on_bytes);

  const HttpTimes& times() const { return times_; }

 private:
  struct Handles;
  const HttpTimes times_;
  const std::unique_ptr<Handles> handles_;
};

// Waits before attempt number `attempt` (from 1): longer each time, by a part that is random, and at least as
// long as the server asks for. Throws Error(kStopped) after a stop signal.
void wait_before_attempt(const HttpTimes& times, int attempt, double asked_wait);

}  // namespace dtrain
