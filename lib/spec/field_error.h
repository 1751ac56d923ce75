// A field of a spec that was read without problems and turns out to be wrong later.
#pragma once

#include <string>

#include "core/error.h"

namespace dtrain {

// Error(kUsage) "data.train_examples: 7 is more than ...", which knows its field.
class FieldError : public Error {
 public:
  FieldError(const std::string& field, const std::string& text)
      : Error(ExitCode::kUsage, field + ": " + text), field_(field), text_(text) {}
  const std::string& field() const { return field_; }
  const std::string& text() const { return text_; }

 private:
  std::string field_;
  std::string text_;
};

}  // namespace dtrain
