// An error in a field of a spec that is detected after the spec was read without problems.
#pragma once

#include <string>

#include "core/error.h"

namespace dtrain {

// Error(kUsage) "data.train_examples: 7 is more than ...", with the field's path.
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
