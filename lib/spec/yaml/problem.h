// The problems of a spec are values. A user's mistake is an exception only if it is found after reading.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/error.h"

namespace dtrain {

struct Problem {
  std::string file;  // the file's name, or "--set" for an override
  int line = 0;      // 1-based; 0: no position
  int column = 0;    // 1-based
  std::string path;  // "train.optimizer.learning_rate", "model.layers[2].filters"; may be empty
  std::string text;  // what is wrong and, if known, how to fix it

  // file:line:column: path: problem
  std::string to_string() const {
    const std::string where = line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
    return where + ": " + (path.empty() ? "" : path + ": ") + text;
  }
};

// Error(kUsage) "data.train_examples: 7 is more than ...", with the field's path.
class FieldError : public Error {
 public:
  FieldError(const std::string& field, const std::string& text)
      : Error(ExitCode::kUsage, field + ": " + text), field_(field), text_(text) {}
  // As fmt::format.
  template <class... Values>
  requires(sizeof...(Values) > 0)
      FieldError(const std::string& field, fmt::format_string<Values...> format, Values&&... values)
      : FieldError(field, fmt::vformat(format, fmt::make_format_args(values...))) {}
  const std::string& field() const { return field_; }
  const std::string& text() const { return text_; }

 private:
  std::string field_;
  std::string text_;
};

}  // namespace dtrain
