// The words of a column by what makes them the same.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tables/table_format.h"

namespace dtrain {

// Words that are numbered from 0. Where a column is read as numbers, 1 and 1.0 are the same.
class WordIndex {
 public:
  WordIndex(const ColumnReading& reading, const std::vector<std::string>& words);

  std::optional<size_t> find(const std::string& word) const;
  size_t add(const std::string& word);

 private:
  std::string key_of(const std::string& word) const;

  bool by_number_;
  NumberStyle style_;
  std::unordered_map<std::string, size_t> places_;
  size_t next_ = 0;
};

}  // namespace dtrain
