// What only some kinds of a thing have, such as sgd's momentum.
#pragma once

#include <any>
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace dtrain {

// The fields of one kind: a plain struct of that kind, such as SgdFields. An empty one stands for its
// defaults.
class KindFields {
 public:
  KindFields() = default;
  template <class Own>
  requires(!std::same_as<Own, KindFields>) KindFields(Own own) : own_(std::move(own)) {}

  // Throws Error(kBug) if these are the fields of another kind.
  template <class Own>
  const Own& get() const {
    static const Own defaults;
    return own_.has_value() ? checked(std::any_cast<Own>(&own_)) : defaults;
  }
  template <class Own>
  Own& get() {
    if (!own_.has_value()) own_.emplace<Own>();
    return checked(std::any_cast<Own>(&own_));
  }

 private:
  template <class Own>
  static Own& checked(Own* own) {
    if (own == nullptr) throw Error(ExitCode::kBug, "the fields of a spec are those of another kind");
    return *own;
  }

  std::any own_;
};

// What is wrong with fields that are each right by themselves.
struct Contradiction {
  std::string field;  // the one to which the problem is reported; "": all together
  std::string other;
  std::string text;
};
using Contradictions = std::vector<Contradiction> (*)(const KindFields& own);

}  // namespace dtrain
