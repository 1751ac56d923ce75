// The findings of a check of data, in words, as JSON, and as a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data_check/data_check.h"

namespace dtrain {

// For people: the examples of each class, and what is odd about some of them.
std::string check_text(const DataCheck& check);

// For scripts: everything that was found.
nlohmann::ordered_json check_json(const DataCheck& check);

// A page with the pictures in question, which are read again; at most some hundred of them.
std::string check_page(const DataCheck& check);

}  // namespace dtrain
