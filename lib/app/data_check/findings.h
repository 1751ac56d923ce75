// The findings of a check of data: as lists, in words, as JSON, and as a page.
#pragma once

#include <string>
#include <vector>

#include "core/text.h"
#include "data_check/data_check.h"
#include "metrics/event.h"

namespace dtrain {

struct DataFinding {
  std::string title;
  std::string meaning;
  std::vector<std::string> lines;  // at least one
};

std::vector<DataFinding> findings_of(const DataCheck& check);

// A heading, a row for each class, and the sums: the examples of each part that there is.
TableRows class_rows(const DataCheck& check);

// "widths 100 to 500 (median 240), heights 128 pixels"; empty if the data are no pictures.
std::string sizes_text(const DataCheck& check);

// For people: the examples of each class, and what is odd about some of them.
std::string check_text(const DataCheck& check);

// For scripts: everything that was found.
Event check_json(const DataCheck& check);

// A page with the pictures in question, which are read again; at most some hundred of them.
std::string check_page(const DataCheck& check);

}  // namespace dtrain
