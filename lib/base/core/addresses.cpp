#include "core/addresses.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMostAddresses = 100'000;
constexpr size_t kMostDigits = 9;

// Names of no secrets, although they look like it; without their dashes, underscores and dots.
constexpr auto kHarmless = std::to_array<std::string_view>(
    {"author", "authors", "foreignkey", "partitionkey", "primarykey", "rowkey", "sortkey", "tokenizer"});

// Whether a query holds what lets its reader in.
bool has_secret(const std::string& query) {
  for (const std::string& part : split(query, '&')) {
    std::string name = in_lower_case(part.substr(0, part.find('=')));
    std::erase_if(name, [](char letter) { return letter == '-' || letter == '_' || letter == '.'; });
    if (std::ranges::find(kHarmless, std::string_view(name)) != kHarmless.end()) continue;
    for (const char* const secret : {"signature", "token", "passw", "secret", "credential", "auth", "jwt"}) {
      if (name.find(secret) != std::string::npos) return true;
    }
    if (name == "sig" || name == "pwd" || name.ends_with("key")) return true;
  }
  return false;
}

// What is between braces, "000..099" or "a,b".
std::vector<std::string> choices_of(const std::string& text, const std::string& address) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos && text.find(',') != std::string::npos) return split(text, ',');
  const std::string first = text.substr(0, dots);
  const std::string last = dots == std::string::npos ? "" : text.substr(dots + 2);
  const auto is_number = [](const std::string& digits) {
    return !digits.empty() && digits.size() <= kMostDigits &&
           digits.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_number(first) || !is_number(last) || std::stoll(last) < std::stoll(first))
    throw Error(ExitCode::kUsage,
                "{}: '{{{}}}' is neither a range, as in {{000..099}}, nor a list, as in {{a,b}}",
                shown_address(address), printable(text, 60));
  if (std::stoll(last) - std::stoll(first) >= static_cast<long long>(kMostAddresses))
    throw Error(ExitCode::kUsage, "{}: stands for more than {} addresses", shown_address(address),
                kMostAddresses);
  std::vector<std::string> numbers;
  for (long long number = std::stoll(first); number <= std::stoll(last); ++number)
    numbers.push_back(fmt::format("{:0{}}", number, first.size()));
  return numbers;
}

// In the order in which they replace: a file comes before its folder.
struct Names {
  std::mutex mutex;
  std::map<std::string, std::string, std::greater<>> by_path;
};

Names& names() {
  static Names* const all = new Names;  // errors may be made until the very end
  return *all;
}

std::string with_names(std::string message) {
  const std::lock_guard lock(names().mutex);
  for (const auto& [path, name] : names().by_path) {
    for (size_t at = message.find(path); at != std::string::npos; at = message.find(path, at + name.size()))
      message.replace(at, path.size(), name);
  }
  return message;
}

}  // namespace

bool is_address(const std::string& text) {
  const std::string begin = in_lower_case(text.substr(0, 8));
  return begin.starts_with("http://") || begin.starts_with("https://") || begin.starts_with("s3://");
}

bool is_in_store(const std::string& address) {
  return address.starts_with("s3://") || address.starts_with("S3://");
}

std::string fault_of_address(const std::string& address) {
  const size_t host = address.find("://") + 3;
  const size_t end = std::min(address.find_first_of("/?#", host), address.size());
  if (end == host) return "names no host";
  if (address.substr(host, end - host).find('@') != std::string::npos)
    return is_in_store(address)
               ? "has keys in it, which would be kept with every run; leave them out: keys are read from "
                 "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from ~/.aws/credentials"
               : "has a user and a password in it, which would be kept with every run; leave them out, and "
                 "use a server that lets this host in without";
  if (is_in_store(address)) return "";
  if (address.find('#') != std::string::npos)
    return "has a fragment (#...), which names no file; leave it out";
  const size_t query = address.find('?', host);
  if (query != std::string::npos && has_secret(address.substr(query + 1)))
    return "has a signature or a key in its query, which would be kept with every run; for a store write "
           "s3://BUCKET/KEY, with keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials";
  return "";
}

std::string with_lower_scheme(const std::string& address) {
  const size_t end = std::min(address.find(':'), address.size());
  return in_lower_case(address.substr(0, end)) + address.substr(end);
}

std::string shown_address(const std::string& address) {
  return printable(is_in_store(address) ? address : address.substr(0, address.find_first_of("?#")), 1000);
}

std::vector<std::string> expanded_address(const std::string& address) {
  std::vector<std::string> all = {""};
  size_t at = 0;
  for (size_t open = address.find('{'); open != std::string::npos; open = address.find('{', at)) {
    const size_t close = address.find('}', open);
    if (close == std::string::npos)
      throw Error(ExitCode::kUsage, "{}: a brace is not closed", shown_address(address));
    const std::vector<std::string> choices = choices_of(address.substr(open + 1, close - open - 1), address);
    if (all.size() * choices.size() > kMostAddresses)
      throw Error(ExitCode::kUsage, "{}: stands for more than {} addresses", shown_address(address),
                  kMostAddresses);
    std::vector<std::string> longer;
    for (const std::string& begin : all) {
      for (const std::string& choice : choices)
        longer.push_back(begin + address.substr(at, open - at) + choice);
    }
    all = std::move(longer);
    at = close + 1;
  }
  for (std::string& one : all) one += address.substr(at);
  return all;
}

void name_in_messages(const std::string& path, const std::string& name) {
  const std::lock_guard lock(names().mutex);
  names().by_path[path] = name;
  as_named_in_messages = with_names;
}

}  // namespace dtrain
