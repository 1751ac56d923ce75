// Whether the kinds of plug-ins fit among those that there are.
#pragma once

#include "spec/added_kinds.h"

namespace dtrain {

// Throws Error(kUsage) if there is a kind of this name, or if one of its fields cannot be beside those of
// other kinds in a spec.
void require_fitting(AddedKind::What what, const AddedKind& kind);

}  // namespace dtrain
