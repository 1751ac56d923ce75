#include "documentation/configs.h"

#include <algorithm>

namespace dtrain {

std::string summary_of(const ShippedConfig& config) {
  std::string summary;
  for (size_t begin = 0; config.text.compare(begin, 2, "# ") == 0;) {
    const size_t end = std::min(config.text.find('\n', begin), config.text.size());
    summary += (summary.empty() ? "" : " ") + config.text.substr(begin + 2, end - begin - 2);
    const size_t sentence = summary.find(". ");
    if (sentence != std::string::npos) return summary.substr(0, sentence + 1);
    if (summary.back() == ':') summary.back() = '.';
    if (summary.back() == '.' || end == config.text.size()) break;
    begin = end + 1;
  }
  return summary;
}

}  // namespace dtrain
