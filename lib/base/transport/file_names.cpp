#include "transport/file_names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/addresses.h"
#include "core/error.h"
#include "core/text.h"
#include "transport/store.h"

namespace dtrain {
namespace {

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

}  // namespace

bool is_in_store(const std::string& address) {
  return address.starts_with("s3://") || address.starts_with("S3://");
}

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

}  // namespace dtrain
