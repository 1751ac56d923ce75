#include "transport/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "crypto/crypto.h"

namespace dtrain {
namespace {

constexpr const char* kMethod = "AWS4-HMAC-SHA256";

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

std::string time_text(int64_t time, const char* format) {
  const auto seconds = static_cast<time_t>(time);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

std::string uri_encoded(const std::string& text, bool keeps_slashes) {
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c) || (keeps_slashes && c == '/'))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string query_text(const SignedRequest& request) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const auto& [name, value] : request.query)
    parts.emplace_back(uri_encoded(name, false), uri_encoded(value, false));
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const auto& [name, value] : parts) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

std::map<std::string, std::string> signed_headers(const SignedRequest& request, const StoreKeys& keys,
                                                  const std::string& region, int64_t time) {
  const std::string now = time_text(time, "%Y%m%dT%H%M%SZ"), day = time_text(time, "%Y%m%d");
  std::map<std::string, std::string> headers = request.headers;
  headers["host"] = request.host;
  headers["x-amz-date"] = now;
  headers["x-amz-content-sha256"] = hexadecimal(sha256(""));
  if (!keys.session.empty()) headers["x-amz-security-token"] = keys.session;

  std::string names, lines;
  for (const auto& [name, value] : headers) {
    names += (names.empty() ? "" : ";") + name;
    lines += name + ":" + value + "\n";
  }
  const std::string canonical = "GET\n" + request.path + "\n" + query_text(request) + "\n" + lines + "\n" +
                                names + "\n" + headers["x-amz-content-sha256"];
  const std::string scope = day + "/" + region + "/s3/aws4_request";
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kMethod, now, scope, hexadecimal(sha256(canonical)));
  std::string key = "AWS4" + keys.secret;
  for (const std::string& part : {day, region, std::string("s3"), std::string("aws4_request")})
    key = hmac_sha256(key, part);
  headers["authorization"] = fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", kMethod,
                                         keys.id, scope, names, hexadecimal(hmac_sha256(key, to_sign)));
  headers.erase("host");  // libcurl sends it
  return headers;
}

}  // namespace dtrain
