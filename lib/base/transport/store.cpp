#include "transport/store.h"

#include <filesystem>
#include <optional>

#include "core/addresses.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostCodeBytes = 60;
constexpr int64_t kMostFileBytes = int64_t{1} << 20;  // with settings

using Section = std::map<std::string, std::string>;

std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* const name : variables) {
    if (const auto text = environment_text(name)) return *text;
  }
  return "";
}

fs::path file_of(const char* variable, const char* name) {
  if (const auto path = environment_text(variable)) return *path;
  const auto home = environment_text("HOME");
  return home ? fs::path(*home) / ".aws" / name : fs::path();
}

// The settings of [name] or [profile name]; none if the file or the section is not there.
Section section_of(const fs::path& path, const std::string& name) {
  std::error_code none;
  Section section;
  if (path.empty() || !fs::exists(path, none)) return section;
  bool inside = false;
  for (const std::string& line : split(read_file(path, kMostFileBytes, ExitCode::kUsage), '\n')) {
    const std::string text = trimmed(line);
    if (text.starts_with('[')) {
      const std::string title = trimmed(text.substr(1, text.find(']') - 1));
      inside = title == name || (title.starts_with("profile ") && trimmed(title.substr(8)) == name);
    }
    const size_t equals = text.find('=');
    const bool nested = line.starts_with(' ') || line.starts_with('\t');
    if (!inside || nested || equals == std::string::npos || text.starts_with('#') || text.starts_with(';'))
      continue;
    section[trimmed(text.substr(0, equals))] = trimmed(text.substr(equals + 1));
  }
  return section;
}

StoreKeys keys_in(const Section& section, const std::string& from) {
  const auto value = [&](const char* name) {
    return section.contains(name) ? section.at(name) : std::string();
  };
  return {value("aws_access_key_id"), value("aws_secret_access_key"), value("aws_session_token"), from};
}

// Line breaks in a key would be headers of their own.
void require_whole(const StoreKeys& keys) {
  if (keys.id.empty() != keys.secret.empty())
    throw Error(ExitCode::kUsage, "{}: there is {} without {}", keys.from,
                keys.id.empty() ? "a secret key" : "an access key's name",
                keys.id.empty() ? "its name" : "its secret");
  for (const std::string* part : {&keys.id, &keys.secret, &keys.session}) {
    for (const char c : *part) {
      if (c <= ' ' || c > '~')
        throw Error(ExitCode::kUsage, "{}: a key has characters that keys do not have", keys.from);
    }
  }
}

std::string endpoint_in(const Section& config) {
  std::string endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty() && config.contains("endpoint_url")) endpoint = config.at("endpoint_url");
  if (endpoint.empty()) return endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  endpoint = with_lower_scheme(endpoint);
  const bool is_web =
      is_address(endpoint) && endpoint.starts_with("http") && endpoint.find('?') == std::string::npos;
  const std::string fault = is_web ? fault_of_address(endpoint) : "is no http:// or https:// address";
  if (!fault.empty())
    throw Error(ExitCode::kUsage, "AWS_ENDPOINT_URL, or endpoint_url of ~/.aws/config: {}", fault);
  return endpoint;
}

// The text of the first element `name`, as it is in the document.
std::optional<std::string> element(const std::string& xml, const std::string& name, size_t begin = 0) {
  const std::string open = "<" + name + ">", close = "</" + name + ">";
  const size_t at = xml.find(open, begin);
  if (at == std::string::npos) return std::nullopt;
  const size_t end = xml.find(close, at);
  if (end == std::string::npos) return std::nullopt;
  return xml.substr(at + open.size(), end - at - open.size());
}

void append_utf8(std::string& text, uint32_t code) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

// "&amp;", "&#38;" and "&#x26;" become "&"; nullopt: there is another entity.
std::optional<std::string> decoded(const std::string& xml) {
  static const std::map<std::string, char> kNamed = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  std::string text;
  size_t at = 0;
  for (size_t open = xml.find('&'); open != std::string::npos; open = xml.find('&', at)) {
    const size_t close = xml.find(';', open);
    if (close == std::string::npos || close - open > 10) return std::nullopt;
    const std::string name = xml.substr(open + 1, close - open - 1);
    text += xml.substr(at, open - at);
    if (kNamed.contains(name)) {
      text += kNamed.at(name);
    } else if (name.size() > 1 && name[0] == '#') {
      const bool hex = name[1] == 'x' || name[1] == 'X';
      const std::string digits = name.substr(hex ? 2 : 1);
      if (digits.empty() ||
          digits.find_first_not_of(hex ? "0123456789abcdefABCDEF" : "0123456789") != std::string::npos)
        return std::nullopt;
      const unsigned long code = std::stoul(digits, nullptr, hex ? 16 : 10);
      if (code == 0 || code > 0x10FFFF) return std::nullopt;
      append_utf8(text, static_cast<uint32_t>(code));
    } else {
      return std::nullopt;
    }
    at = close + 1;
  }
  return text + xml.substr(at);
}

}  // namespace

StoreSettings store_settings() {
  const auto profile = environment_text("AWS_PROFILE");
  const std::string name = profile.value_or("default");
  const fs::path credentials = file_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const Section config = section_of(file_of("AWS_CONFIG_FILE", "config"), name);
  const Section saved = section_of(credentials, name);
  if (profile && config.empty() && saved.empty())
    throw Error(ExitCode::kUsage, "AWS_PROFILE: no profile '{}' in {} or ~/.aws/config", printable(name, 100),
                printable(credentials.string(), 1000));
  StoreSettings settings;
  settings.keys = {first_of({"AWS_ACCESS_KEY_ID"}), first_of({"AWS_SECRET_ACCESS_KEY"}),
                   first_of({"AWS_SESSION_TOKEN"}), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
  if (settings.keys.id.empty() && settings.keys.secret.empty()) {
    settings.keys = keys_in(saved, credentials.string() + ", profile " + name);
    if (!settings.keys.are_given()) settings.keys = keys_in(config, "~/.aws/config, profile " + name);
  }
  require_whole(settings.keys);
  settings.region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty() && config.contains("region")) settings.region = config.at("region");
  if (settings.region.empty()) settings.region = "us-east-1";
  if (settings.region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    throw Error(ExitCode::kUsage, "AWS_REGION: '{}' is no name of a region", printable(settings.region, 60));
  settings.endpoint = endpoint_in(config);
  return settings;
}

StorePlace store_place(const std::string& address) {
  const std::string place = address.substr(5);  // after s3://
  const size_t slash = std::min(place.find('/'), place.size());
  StorePlace found{place.substr(0, slash), slash < place.size() ? place.substr(slash + 1) : ""};
  if (found.bucket.empty() ||
      found.bucket.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") !=
          std::string::npos)
    throw Error(ExitCode::kUsage, "{}: '{}' is no name of a bucket", printable(address, 1000),
                printable(found.bucket, 100));
  return found;
}

HttpRequest store_request(const StoreSettings& settings, const StorePlace& place,
                          const std::vector<std::pair<std::string, std::string>>& query,
                          const std::map<std::string, std::string>& headers) {
  SignedRequest request;
  std::string base = settings.endpoint;
  // Certificates of AWS do not cover a dot in the bucket's name, and other stores know buckets in paths.
  const bool in_host = base.empty() && place.bucket.find('.') == std::string::npos;
  const std::string aws = "s3." + settings.region + ".amazonaws.com";
  if (base.empty()) base = "https://" + (in_host ? place.bucket + "." : "") + aws;
  const size_t host = base.find("://") + 3, path = std::min(base.find('/', host), base.size());
  request.host = base.substr(host, path - host);
  const std::string usual_port = base.starts_with("https:") ? ":443" : ":80";  // which libcurl does not send
  if (request.host.ends_with(usual_port)) request.host.resize(request.host.size() - usual_port.size());
  request.path =
      base.substr(path) + (in_host ? "/" : "/" + place.bucket + "/") + uri_encoded(place.key, true);
  request.query = query;
  request.headers = headers;
  const std::string text = query_text(request);
  return {.url = base.substr(0, path) + request.path + (text.empty() ? "" : "?" + text),
          .headers = settings.keys.are_given()
                         ? signed_headers(request, settings.keys, settings.region, std::time(nullptr))
                         : headers,
          .follows_redirects = false};  // a signature is for one host
}

StorePage parse_store_page(const std::string& xml, const std::string& address) {
  const auto refuse = [&](const std::string& fault) {
    throw Error(ExitCode::kData, "{}: the store's list of objects {}", address, fault);
  };
  if (xml.find("<ListBucketResult") == std::string::npos ||
      xml.find("</ListBucketResult>") == std::string::npos)
    refuse("is none: is AWS_ENDPOINT_URL that of a store with the interface of S3?");
  StorePage page;
  const std::string open = "<Contents>", close = "</Contents>";
  std::string rest;  // without the objects
  size_t at = 0;
  for (size_t begin = xml.find(open); begin != std::string::npos; begin = xml.find(open, at)) {
    const size_t end = xml.find(close, begin);
    if (end == std::string::npos) refuse("is cut off");
    const std::string entry = xml.substr(begin, end - begin);
    const auto key = decoded(element(entry, "Key").value_or("&")),
               etag = decoded(element(entry, "ETag").value_or(""));
    const auto bytes = whole_number(element(entry, "Size").value_or(""));
    if (!key || key->empty() || !etag || printable(*etag) != *etag || !bytes || *bytes < 0)
      refuse("has an object without a key or a size, or with an odd ETag");
    const bool is_quoted =
        etag->empty() || etag->starts_with('"');  // as in answers; not all stores list it so
    page.entries.push_back({*key, *bytes, is_quoted ? *etag : '"' + *etag + '"'});
    rest += xml.substr(at, begin - at);
    at = end + close.size();
  }
  rest += xml.substr(at);
  if (element(rest, "IsTruncated").value_or("false") != "true") return page;
  page.next = decoded(element(rest, "NextContinuationToken").value_or("")).value_or("");
  if (page.next.empty()) refuse("says that there is more, and not where");
  return page;
}

std::string store_error_code(const std::string& xml) {
  const std::string code = element(xml, "Code").value_or("");
  const bool is_word =
      code.size() <= kMostCodeBytes &&
      code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.") ==
          std::string::npos;
  return is_word ? code : "";
}

}  // namespace dtrain
