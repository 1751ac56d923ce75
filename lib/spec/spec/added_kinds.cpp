#include "spec/added_kinds.h"

#include <array>
#include <memory>

#include "core/remade_table.h"

namespace dtrain {
namespace {

std::array<std::vector<AddedKind>, 4>& lists() {
  static std::array<std::vector<AddedKind>, 4> all;
  return all;
}

template <class T>
Accessor<KindFields> option_accessor(const std::string& name, const T& otherwise) {
  const auto standing = std::make_shared<const T>(otherwise);
  return MemberOf<KindFields, T>{[name, standing](const KindFields& own) -> const T* {
                                   const auto& values = own.get<OptionFields>().values;
                                   const auto found = values.find(name);
                                   return found == values.end() ? standing.get()
                                                                : &std::get<T>(found->second);
                                 },
                                 [name, standing](KindFields& own) -> T* {
                                   auto& values = own.get<OptionFields>().values;
                                   return &std::get<T>(values.try_emplace(name, *standing).first->second);
                                 }};
}

}  // namespace

const std::vector<AddedKind>& added_kinds(AddedKind::What what) { return lists().at(what); }

void add_kind(AddedKind::What what, const AddedKind& kind) {
  lists().at(what).push_back(kind);
  ++kinds_added;
}

Field<KindFields> option_field(const FieldInfo& info, const OptionValue& otherwise) {
  const auto accessor = [&](const auto& value) { return option_accessor(info.path, value); };
  return {info, std::visit(accessor, otherwise)};
}

}  // namespace dtrain
