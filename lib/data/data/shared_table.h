// The examples of a table as a model takes them, in memory that this user's processes on this host share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "tables/csv_table.h"
#include "tables/table_format.h"

namespace dtrain {

struct EncodedTable {
  TableFormat format;
  StoredExamples train;
  at::Tensor parts;                         // of its rows: uint8 [rows], numbered by table_dataset.cpp
  std::optional<StoredExamples> test = {};  // of a file of its own
  std::vector<std::string> warnings = {};   // what is doubtful about it
};

// Makes the tensors in memory that it asks `make_tensor` for.
using EncodeTable = std::function<EncodedTable(const MakeTensor& make_tensor)>;

// The table named `key`, which must not be written to: that of a process that has it in memory, or that is
// reading it now, else what `encode` makes (images/shared_memory.h). `source` is the file's name, for `dtrain
// cache`. Where there is no place that tells other processes of it, this one has the table for itself.
EncodedTable shared_table(const std::string& key, const std::string& source, const EncodeTable& encode);

}  // namespace dtrain
