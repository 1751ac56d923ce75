// Parses Slurm's formats for lists: "n[01-03,7],m4" and "2(x3),1".
#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

[[noreturn]] void fail(const char* variable, const std::string& text, const char* what) {
  throw Error(ExitCode::kUsage, "the environment has {}={}, which is not {}", variable, printable(text, 80),
              what);
}

// Splits at commas that are not inside brackets. An empty result means that the brackets are unbalanced.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts = {""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) return {};
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return depth == 0 ? parts : std::vector<std::string>{};
}

bool read_number(const std::string& text, int64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number >= 0;
}

// Appends the numbers of a range, "01-03" or "7", with the width of the first.
bool append_range(const std::string& range, const std::string& prefix, const std::string& suffix,
                  size_t limit, std::vector<std::string>& hosts) {
  const size_t dash = range.find('-');
  const std::string first_text = range.substr(0, dash);
  int64_t first = 0, last = 0;
  if (!read_number(first_text, first)) return false;
  last = first;
  if (dash != std::string::npos && !read_number(range.substr(dash + 1), last)) return false;
  if (last < first) return false;
  for (int64_t number = first; number <= last && hosts.size() < limit; ++number)
    hosts.push_back(fmt::format("{}{:0{}}{}", prefix, number, first_text.size(), suffix));
  return true;
}

}  // namespace

std::vector<std::string> expand_slurm_hosts(const char* variable, const std::string& text, size_t limit) {
  const char* const what = "a list of hosts such as n[01-03],m4";
  std::vector<std::string> hosts;
  const std::vector<std::string> parts = split_list(text);
  if (parts.empty()) fail(variable, text, what);
  for (const std::string& part : parts) {
    if (hosts.size() >= limit) break;
    const size_t open = part.find('[');
    const size_t close = part.find(']');
    if (open == std::string::npos) {
      hosts.push_back(part);
      continue;
    }
    const std::string suffix = part.substr(close + 1);
    if (suffix.find('[') != std::string::npos) fail(variable, text, what);
    for (const std::string& range : split_list(part.substr(open + 1, close - open - 1))) {
      if (!append_range(range, part.substr(0, open), suffix, limit, hosts)) fail(variable, text, what);
    }
  }
  for (const std::string& host : hosts) {
    if (!is_host(host)) fail(variable, text, what);
  }
  return hosts;
}

std::vector<int64_t> expand_slurm_counts(const char* variable, const std::string& text, size_t limit) {
  const char* const what = "a list of numbers such as 2(x3),1";
  std::vector<int64_t> counts;
  for (const std::string& part : split_list(text)) {
    const size_t open = part.find("(x");
    int64_t count = 0, times = 1;
    const bool repeated = open != std::string::npos && part.back() == ')';
    if (!read_number(part.substr(0, open), count) || (open != std::string::npos && !repeated) ||
        (repeated && !read_number(part.substr(open + 2, part.size() - open - 3), times)))
      fail(variable, text, what);
    for (int64_t i = 0; i < times && counts.size() < limit; ++i) counts.push_back(count);
  }
  if (counts.empty()) fail(variable, text, what);
  return counts;
}

}  // namespace dtrain
