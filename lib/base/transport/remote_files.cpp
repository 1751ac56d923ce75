#include "transport/remote_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/addresses.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMostPageBytes = size_t{16} << 20;
constexpr size_t kMostFiles = 1'000'000;
constexpr int kMostPages = 10'000;  // of a list, each of up to 1,000 objects
constexpr int64_t kLooksAtOnce = 8;
constexpr size_t kMostNameBytes = 255;  // of a file here

// "%20" becomes " ".
std::string percent_decoded(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at]));
    };
    if (text[i] == '%' && is_digit(i + 1) && is_digit(i + 2)) {
      decoded += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

// Without what libcurl would not send as it is.
std::string url_of(const std::string& address) {
  std::string encoded;
  for (const char c : with_lower_scheme(address)) {
    const bool is_text =
        c > ' ' && c <= '~' && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
    encoded += is_text ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string version_of(const HttpResponse& head) {
  const std::string etag = head.header("etag");
  return etag.empty() ? head.header("last-modified") : etag;
}

// Of an answer with a part: "bytes 0-0/1234" has {0, 1234}.
std::pair<int64_t, int64_t> range_of(const HttpResponse& head) {
  const std::string text = head.header("content-range");
  const size_t space = text.find(' '), dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with("bytes ") || slash == std::string::npos) return {-1, -1};
  const auto begin =
      dash < slash ? whole_number(text.substr(space + 1, dash - space - 1)) : std::optional<int64_t>(0);
  return {begin.value_or(-1), whole_number(text.substr(slash + 1)).value_or(-1)};
}

// Also by where it ends, which has to be told from a cut connection, unless `knows_size`.
void require_plain(const HttpResponse& head, const std::string& address, bool knows_size) {
  const bool has_chunks = in_lower_case(head.header("transfer-encoding")).ends_with("chunked");
  if (!knows_size && head.is_http1 && !has_chunks && head.header("content-length").empty())
    throw Error(
        ExitCode::kData,
        "{}: the server does not say where it ends (no Content-Length), so that a file that is cut off "
        "would look whole; use another server",
        shown_address(address));
  const std::string coding = head.header("content-encoding");
  if (!coding.empty() && coding != "identity")
    throw Error(ExitCode::kData, "{}: the server sends it encoded ({}); store it there as it is",
                shown_address(address), printable(coding, 60));
  // As Google's store does with what it has so: any size that is known is not of what it sends.
  const std::string stored = head.header("x-goog-stored-content-encoding");
  if (knows_size && !stored.empty() && stored != "identity")
    throw Error(ExitCode::kData,
                "{}: the store has it encoded ({}) and sends it decoded, with another size than in its list; "
                "store it there without Content-Encoding",
                shown_address(address), printable(stored, 60));
}

// Whether the server answers so to whom it does not let in.
bool is_of_keys(const HttpResponse& response) {
  if (response.status == 401 || response.status == 403) return true;
  const std::string code = store_error_code(response.error_body);
  return code == "ExpiredToken" || code == "TokenRefreshRequired" || code == "InvalidToken";
}

[[noreturn]] void fail_on_change(const RemoteFile& file) {
  throw Error(ExitCode::kData,
              "{}: it has changed while dtrain was using it; start again when nobody changes it",
              file.shown());
}

}  // namespace

std::string RemoteFile::shown() const { return shown_address(address); }

std::string path_of_address(const std::string& address) {
  if (is_in_store(address)) return store_place(address).key;
  const std::string plain = address.substr(0, address.find('?'));
  const size_t slash = plain.find('/', plain.find("://") + 3);
  return slash == std::string::npos ? "" : plain.substr(slash + 1);
}

size_t common_folder(const std::vector<RemoteFile>& files) {
  std::string common = path_of_address(files.front().address);
  for (const RemoteFile& file : files) {
    const std::string path = path_of_address(file.address);
    const auto [mine, theirs] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    common.resize(static_cast<size_t>(mine - common.begin()));
  }
  const size_t slash = common.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

void name_files(const std::string& address, size_t below, std::vector<RemoteFile>& files) {
  std::set<std::string> names;
  for (RemoteFile& file : files) {
    const std::string path = path_of_address(file.address).substr(below);
    file.name = is_in_store(file.address) ? path : percent_decoded(path);
    std::replace(file.name.begin(), file.name.end(), '/', '-');
    if (file.name.empty() || file.name.starts_with('.') || file.name.size() > kMostNameBytes ||
        printable(file.name, kMostNameBytes) != file.name)
      throw Error(ExitCode::kData, "{}: its last part cannot be the name of a file here", file.shown());
    if (!names.insert(file.name).second)
      throw Error(ExitCode::kData, "{}: two of its files would have the name {}", shown_address(address),
                  printable(file.name));
  }
}

std::shared_ptr<const StoreSettings> RemoteFiles::settings() {
  const std::lock_guard lock(mutex_);
  if (!settings_) settings_ = std::make_shared<const StoreSettings>(store_settings());
  return settings_;
}

// Temporary keys in a file are renewed while a long job runs.
bool RemoteFiles::has_other_keys(const StoreSettings& refused) {
  const std::lock_guard lock(mutex_);
  if (settings_.get() != &refused) return true;  // another thread has found them
  const auto now = std::make_shared<const StoreSettings>(store_settings());
  if (now->keys == refused.keys) return false;
  settings_ = now;
  return true;
}

HttpRequest RemoteFiles::request_for(const std::string& address,
                                     const std::map<std::string, std::string>& headers) {
  if (is_in_store(address)) return store_request(*settings(), store_place(address), {}, headers);
  return {.url = url_of(address), .headers = headers};
}

HttpResponse RemoteFiles::insist(const std::string& address,
                                 const std::function<HttpResponse(bool& got_further)>& attempt) {
  for (int number = 1;; ++number) {
    bool got_further = false;
    const auto used = is_in_store(address) ? settings() : nullptr;
    HttpResponse response = attempt(got_further);
    if (used && is_of_keys(response) && has_other_keys(*used)) continue;
    if (!response.may_work_later) return response;
    if (got_further) number = 1;
    const std::string what = response.fault.empty()
                                 ? fmt::format("the server answers {}", response.status)
                                 : "the server cannot be reached, or cuts off: " + response.fault;
    if (response.asked_wait > client_.times().longest_wait)
      throw Error(ExitCode::kDisk, "{}: {}, and asks to wait {}; start again then", shown_address(address),
                  what, human_duration(response.asked_wait));
    if (number >= client_.times().attempts)
      throw Error(
          ExitCode::kDisk,
          "{}: {} ({} attempts); copies that were fetched before are used only while the server says that "
          "they are as they were",
          shown_address(address), what, number);
    wait_before_attempt(client_.times(), number, response.asked_wait);
  }
}

std::string RemoteFiles::access_advice(const std::string& address, const std::string& code) {
  if (!is_in_store(address))
    return "the server wants to know who asks; use an address that everyone may read";
  const StoreKeys keys = settings()->keys;
  if (!keys.are_given())
    return "not everyone may read it, and there are no keys: set AWS_ACCESS_KEY_ID and "
           "AWS_SECRET_ACCESS_KEY, or "
           "AWS_PROFILE and ~/.aws/credentials";
  if (code == "ExpiredToken" || code == "TokenRefreshRequired")
    return fmt::format("the keys have expired: get new ones ({})", keys.from);
  if (code == "RequestTimeTooSkewed") return "the clock of this host is wrong: set it";
  if (code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "InvalidToken")
    return fmt::format("the store does not know these keys: correct them ({})", keys.from);
  return fmt::format("the keys may not read it: give them the right to, or use others ({})", keys.from);
}

void RemoteFiles::refuse(const std::string& address, const HttpResponse& response) {
  const std::string shown = shown_address(address), code = store_error_code(response.error_body);
  if (!response.fault.empty())
    throw Error(ExitCode::kUsage, "{}: {}{}", shown, response.fault,
                response.fault.find("ertificate") == std::string::npos
                    ? ""
                    : "; SSL_CERT_FILE or CURL_CA_BUNDLE names a file with the certificates to trust");
  const std::string answer =
      fmt::format("the server answers {}{}", response.status, code.empty() ? "" : " " + code);
  if (is_of_keys(response))
    throw Error(ExitCode::kUsage, "{}: {}: {}", shown, answer, access_advice(address, code));
  if (response.status == 404 || response.status == 410)
    throw Error(ExitCode::kData, "{}: {}: there is no such {}; correct the address", shown, answer,
                code == "NoSuchBucket" ? "bucket" : "file");
  const std::string region = is_in_store(address) ? response.header("x-amz-bucket-region") : "";
  if (!region.empty() && region != settings()->region)
    throw Error(ExitCode::kUsage, "{}: the bucket is in the region {}; set AWS_REGION", shown,
                printable(region, 60));
  throw Error(ExitCode::kData, "{}: {}, which is not the file", shown, answer);
}

// Asks for the first byte: what answers this says all there is to know, and every server answers it.
RemoteFile RemoteFiles::look_at(const std::string& address) {
  const HttpResponse response = insist(address, [&](bool&) {
    const HttpRequest request = request_for(address, {{"range", "bytes=0-0"}});
    return client_.get(request, [](const HttpResponse& head, const char*, size_t count) {
      return head.status == 206 && count <= 1;  // the answer ends here, and its connection is good for more
    });
  });
  RemoteFile file{
      .address = address, .name = {}, .bytes = -1, .version = version_of(response), .has_ranges = false};
  if (response.status == 416 && range_of(response).second == 0) {
    file.bytes = 0;
    return file;
  }
  if (!response.is_whole()) refuse(address, response);
  file.has_ranges = response.status == 206 && range_of(response).second > 0;
  require_plain(response, address, /*knows_size=*/file.has_ranges);
  file.bytes = response.status == 206 ? range_of(response).second
                                      : whole_number(response.header("content-length")).value_or(-1);
  return file;
}

std::vector<RemoteFile> RemoteFiles::list(const std::string& address, const IsWanted& is_wanted) {
  const StorePlace place = store_place(address);
  std::vector<RemoteFile> files;
  std::string next;
  int pages = 0;
  do {
    std::vector<std::pair<std::string, std::string>> query = {{"list-type", "2"}, {"prefix", place.key}};
    if (!next.empty()) query.emplace_back("continuation-token", next);
    std::string xml;
    const HttpResponse response = insist(address, [&](bool&) {
      xml.clear();
      return client_.get(store_request(*settings(), {place.bucket, ""}, query, {}),
                         [&](const HttpResponse&, const char* bytes, size_t count) {
                           xml.append(bytes, count);
                           return xml.size() <= kMostPageBytes;
                         });
    });
    if (!response.is_whole()) refuse(address, response);
    const StorePage page = parse_store_page(xml, shown_address(address));
    for (const StoreEntry& entry : page.entries) {
      const std::string name = entry.key.substr(std::min(place.key.size(), entry.key.size()));
      const bool is_hidden = name.starts_with('.') || name.find("/.") != std::string::npos;
      if (!entry.key.starts_with(place.key) || name.empty() || name.ends_with('/') || is_hidden ||
          !is_wanted(name))
        continue;
      files.push_back({.address = "s3://" + place.bucket + "/" + entry.key,
                       .name = {},
                       .bytes = entry.bytes,
                       .version = entry.etag,
                       .has_ranges = entry.bytes > 0});
    }
    if (files.size() > kMostFiles || ++pages > kMostPages || (page.next == next && !next.empty()))
      throw Error(ExitCode::kData, "{}: has more than {} objects, or a list without end",
                  shown_address(address), with_separators(kMostFiles));
    next = page.next;
  } while (!next.empty());
  if (files.empty())
    throw Error(ExitCode::kData, "{}: no object there whose name begins so is one for this data.dataset",
                shown_address(address));
  return files;
}

std::vector<RemoteFile> RemoteFiles::find(const std::string& address, const IsWanted& is_wanted) {
  const std::string fault = fault_of_address(address);
  if (!fault.empty()) throw Error(ExitCode::kUsage, "{}", "the address " + fault);
  const std::vector<std::string> addresses = expanded_address(address);
  const bool is_folder = address.ends_with('/') || path_of_address(address).empty();
  std::vector<RemoteFile> files;
  if (is_in_store(address) && is_folder && addresses.size() == 1) {
    files = list(address, is_wanted);
    name_files(address, store_place(address).key.size(), files);
    return files;
  }
  if (is_folder)
    throw Error(
        ExitCode::kUsage,
        "{}: names a folder, which cannot be listed; name the files, as in {{000..099}}.tar or {{a,b}}.csv",
        shown_address(address));
  files.resize(addresses.size());
  for_each_in_threads(std::ssize(files), kLooksAtOnce, [&](int64_t i) {
    files[static_cast<size_t>(i)] = look_at(addresses[static_cast<size_t>(i)]);
  });
  name_files(address, common_folder(files), files);
  return files;
}

// One reading of a part, over as many attempts as it takes.
class RemoteFiles::Reading {
 public:
  Reading(const RemoteFile& file, int64_t begin, int64_t end, const Write& write)
      : file_(file), begin_(begin), end_(end < 0 ? file.bytes : end), at_(begin), write_(write) {}

  int64_t at() const { return at_; }
  // Whether more is read than ever before: without ranges each attempt begins anew.
  bool got_further() { return at_ > std::exchange(furthest_, std::max(furthest_, at_)); }
  bool is_done() const { return end_ >= 0 && at_ == end_; }

  std::map<std::string, std::string> headers() {
    std::map<std::string, std::string> headers;
    asked_part_ = file_.has_ranges && (at_ > 0 || end_ < file_.bytes);
    if (asked_part_) headers["range"] = fmt::format("bytes={}-{}", at_, end_ - 1);
    if (file_.version.starts_with('"')) headers["if-match"] = file_.version;
    if (!asked_part_) at_ = begin_;
    checked_ = false;
    return headers;
  }

  bool take(const HttpResponse& head, const char* bytes, size_t count) {
    if (!checked_) check(head);
    if (end_ >= 0 && static_cast<int64_t>(count) > end_ - at_) fail_on_change(file_);
    write_(at_, bytes, count);
    at_ += static_cast<int64_t>(count);
    return true;
  }

 private:
  void check(const HttpResponse& head) {
    checked_ = true;
    require_plain(head, file_.address, /*knows_size=*/file_.bytes >= 0);
    if (!file_.version.empty() && version_of(head) != file_.version) fail_on_change(file_);
    const bool is_part = head.status == 206;
    if (is_part && range_of(head) != std::pair(at_, file_.bytes)) fail_on_change(file_);
    if (is_part == asked_part_) return;
    if (is_part || at_ != begin_ || end_ != file_.bytes || begin_ != 0)
      throw Error(ExitCode::kData, "{}: the server does not send the part that it is asked for",
                  file_.shown());
  }

  const RemoteFile& file_;
  const int64_t begin_, end_;
  int64_t at_, furthest_ = begin_;
  const Write& write_;
  bool asked_part_ = false;
  bool checked_ = false;
};

int64_t RemoteFiles::read(const RemoteFile& file, int64_t begin, int64_t end, const Write& write) {
  Reading reading(file, begin, end, write);
  if (reading.is_done()) return begin;
  const HttpResponse response = insist(file.address, [&](bool& got_further) {
    const HttpRequest request = request_for(file.address, reading.headers());
    HttpResponse answer =
        client_.get(request, [&](const HttpResponse& head, const char* bytes, size_t count) {
          return reading.take(head, bytes, count);
        });
    got_further = reading.got_further();
    if (answer.is_whole() && file.bytes >= 0 && !reading.is_done()) {
      answer.fault = "it ends too early";
      answer.may_work_later = true;
    }
    return answer;
  });
  if (response.status == 412 || response.status == 416) fail_on_change(file);
  if (!response.is_whole()) refuse(file.address, response);
  return reading.at();
}

}  // namespace dtrain
