#include "core/remade_table.h"

#include <atomic>

namespace dtrain {
namespace {

std::atomic<int64_t> added = 0;

}  // namespace

int64_t kinds_added() { return added; }

void note_added_kind() { ++added; }

}  // namespace dtrain
