#include "images/bad_list.h"

#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "images/cache_file.h"

namespace dtrain {
namespace {

constexpr int64_t kMostListBytes = int64_t{1} << 30;

}  // namespace

ImageSet without(const ImageSet& set, const BadImages& bad) {
  ImageSet others{.root = set.root,
                  .files = {},
                  .shape = set.shape,
                  .fit = set.fit,
                  .scaled_decoding = set.scaled_decoding};
  auto next = bad.begin();
  for (int64_t index = 0; index < std::ssize(set.files); ++index) {
    const bool is_bad = next != bad.end() && next->index == index;
    is_bad ? static_cast<void>(++next) : others.files.push_back(set.files[static_cast<size_t>(index)]);
  }
  return others;
}

std::string text_of(const BadList& list) {
  nlohmann::ordered_json bad = nlohmann::ordered_json::array();
  for (const BadImage& one : list.bad) bad.push_back({one.index, one.fault});
  const std::string text =
      nlohmann::ordered_json{{"root", list.root}, {"images", list.images}, {"bad", bad}}.dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return checksum_of(text) + "\n" + text;
}

std::optional<BadList> read_bad_list(const std::filesystem::path& path) {
  if (!OpenFile(path, O_RDONLY).is_open()) return std::nullopt;
  const std::string file = read_file(path, kMostListBytes, ExitCode::kDisk);
  const size_t begin = std::min(file.size(), kChecksumDigits + 1);
  const std::string text = file.substr(begin);
  if (file.substr(0, begin) != checksum_of(text) + "\n") return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  BadList list;
  try {
    json.at("root").get_to(list.root);
    json.at("images").get_to(list.images);
    for (const auto& [index, fault] : json.at("bad").get<std::vector<std::pair<int64_t, std::string>>>()) {
      if (index < (list.bad.empty() ? 0 : list.bad.back().index + 1) || index >= list.images)
        return std::nullopt;
      list.bad.push_back({index, fault});
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return list;
}

}  // namespace dtrain
