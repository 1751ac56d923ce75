// Lists of named tensors, compared bit for bit.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// Names, dtypes and shapes included; the order does not matter.
inline bool same_tensors(const std::vector<std::pair<std::string, at::Tensor>>& a,
                         const std::vector<std::pair<std::string, at::Tensor>>& b) {
  const std::map<std::string, at::Tensor> others(b.begin(), b.end());
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& entry) {
           const auto found = others.find(entry.first);
           if (found == others.end()) return false;
           const at::Tensor one = entry.second.contiguous();
           const at::Tensor other = found->second.contiguous();
           return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() &&
                  (one.nbytes() == 0 ||
                   std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0);
         });
}

}  // namespace dtrain
