// The kinds of layers, before the first test: what main() does in the program.
#include "layers/table.h"

namespace dtrain {
namespace {

[[maybe_unused]] const bool added = (add_layer_kinds(shipped_layers()), true);

}  // namespace
}  // namespace dtrain
